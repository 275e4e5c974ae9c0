import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member by Java's KafkaConsumer. */
public final class Member implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;

    private Member(Map<String, String> args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args.get("bootstrap"));
        settings.put("group.id", args.get("group"));
        settings.put("session.timeout.ms", args.get("session-ms"));
        settings.put("heartbeat.interval.ms", args.get("heartbeat-ms"));
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (args.containsKey("instance")) {
            settings.put("group.instance.id", args.get("instance"));
        }
        topic = args.get("topic");
        consumer = new KafkaConsumer<>(settings);
    }

    public static void main(String[] args) {
        new Member(Protocol.arguments(args)).run(Protocol.commands());
    }

    private void run(BlockingQueue<String[]> commands) {
        consumer.subscribe(Set.of(topic), this);
        while (true) {
            try {
                consumer.poll(Duration.ofMillis(50));
                String[] command = commands.poll();
                if (command == null) {
                    continue;
                }
                switch (command[0]) {
                    case "commit" -> commit(Integer.parseInt(command[1]), Long.parseLong(command[2]));
                    case "offsets" -> offsets();
                    case "close" -> {
                        consumer.close();
                        Protocol.say("closed");
                        return;
                    }
                    default -> Protocol.say("error", "message", "what is " + command[0] + "?");
                }
            } catch (FencedInstanceIdException problem) {
                Protocol.say("fenced", "message", Protocol.words(problem));
                return;
            } catch (KafkaException problem) {
                Protocol.say("error", "message", Protocol.words(problem));
            }
        }
    }

    private void commit(int partition, long offset) {
        try {
            consumer.commitSync(Map.of(new TopicPartition(topic, partition), new OffsetAndMetadata(offset)),
                Duration.ofSeconds(20));
            Protocol.say("committed", "partition", partition, "offset", offset);
        } catch (FencedInstanceIdException problem) {
            throw problem;
        } catch (KafkaException problem) {
            Protocol.say("commit_failed", "partition", partition, "offset", offset, "error", Protocol.words(problem));
        }
    }

    private void offsets() {
        Set<TopicPartition> all = consumer.partitionsFor(topic).stream()
            .map(info -> new TopicPartition(topic, info.partition())).collect(Collectors.toSet());
        Map<Integer, Long> offsets = new TreeMap<>();
        consumer.committed(all).forEach((at, found) -> offsets.put(at.partition(), found == null ? -1 : found.offset()));
        Protocol.say("offsets", "offsets", offsets);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
        Protocol.say("assigned", "partitions",
            consumer.assignment().stream().map(TopicPartition::partition).sorted().toList());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        Protocol.say("revoked", "partitions", revoked.stream().map(TopicPartition::partition).sorted().toList());
    }
}
