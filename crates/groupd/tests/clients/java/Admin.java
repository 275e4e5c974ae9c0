import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.common.TopicPartition;

/** Java's AdminClient. */
public final class Admin {
    private final AdminClient client;

    private Admin(AdminClient client) {
        this.client = client;
    }

    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<String[]> commands = Protocol.commands();
        try (AdminClient client = AdminClient.create(Map.of(
                "bootstrap.servers", Protocol.arguments(args).get("bootstrap"),
                "default.api.timeout.ms", "15000", "request.timeout.ms", "5000"))) {
            Admin admin = new Admin(client);
            Protocol.say("ready");
            for (String[] words = commands.take(); !words[0].equals("close"); words = commands.take()) {
                try {
                    Protocol.say("reply", "ok", true, "result", admin.answer(words));
                } catch (UnsupportedOperationException problem) {
                    Protocol.say("reply", "ok", false, "unsupported", true, "error", words[0]);
                } catch (ExecutionException problem) {
                    Protocol.say("reply", "ok", false, "error", Protocol.words(problem));
                }
            }
        }
        Protocol.say("closed");
    }

    private Object answer(String[] words) throws ExecutionException, InterruptedException {
        return switch (words[0]) {
            case "list" -> client.listGroups().all().get().stream().map(GroupListing::groupId).toList();
            case "describe" -> describe(words[1]);
            case "offsets" -> offsets(words[1], words[2]);
            case "set" -> client.alterConsumerGroupOffsets(words[1],
                Map.of(at(words), new OffsetAndMetadata(Long.parseLong(words[4])))).all().get();
            case "delete-offset" -> client.deleteConsumerGroupOffsets(words[1], Set.of(at(words))).all().get();
            case "delete" -> client.deleteConsumerGroups(List.of(words[1])).all().get();
            case "evict" -> client.removeMembersFromConsumerGroup(words[1],
                new RemoveMembersFromConsumerGroupOptions()).all().get();
            case "create" -> client.createTopics(
                List.of(new NewTopic(words[1], Integer.parseInt(words[2]), (short) 1))).all().get();
            case "delete-topic" -> client.deleteTopics(List.of(words[1])).all().get();
            case "topics" -> topics();
            default -> throw new UnsupportedOperationException(words[0]);
        };
    }

    private static TopicPartition at(String[] words) {
        return new TopicPartition(words[2], Integer.parseInt(words[3]));
    }

    private Object describe(String group) throws ExecutionException, InterruptedException {
        ConsumerGroupDescription found = client.describeConsumerGroups(List.of(group)).all().get().get(group);
        return Map.of(
            "state", found.groupState().toString(),
            "members", found.members().stream()
                .map(member -> member.assignment().topicPartitions().stream().map(TopicPartition::partition).sorted().toList())
                .toList());
    }

    private Object offsets(String group, String topic) throws ExecutionException, InterruptedException {
        Map<Integer, Long> offsets = new TreeMap<>();
        client.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((at, found) -> {
            if (at.topic().equals(topic) && found != null) {
                offsets.put(at.partition(), found.offset());
            }
        });
        return offsets;
    }

    private Object topics() throws ExecutionException, InterruptedException {
        Map<String, Integer> counts = new TreeMap<>();
        client.describeTopics(client.listTopics().names().get()).allTopicNames().get()
            .forEach((name, topic) -> counts.put(name, topic.partitions().size()));
        return counts;
    }
}
