import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Java's transactional KafkaProducer, and if it is to join the group the consumer whose offsets it commits. */
public final class Transactional {
    private final Map<String, String> args;
    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;

    private Transactional(Map<String, String> args) {
        this.args = args;
        Properties settings = settings();
        settings.put("transactional.id", args.get("transactional-id"));
        settings.put("transaction.timeout.ms", args.get("timeout-ms"));
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        settings.put("max.block.ms", "40000");
        settings.put("request.timeout.ms", "5000");
        settings.put("linger.ms", "0");
        settings.put("delivery.timeout.ms", "30000");
        producer = new KafkaProducer<>(settings);
        consumer = new KafkaConsumer<>(consumerSettings());
    }

    private Properties consumerSettings() {
        Properties settings = settings();
        settings.put("group.id", args.get("group"));
        settings.put("session.timeout.ms", args.get("session-ms"));
        settings.put("heartbeat.interval.ms", args.get("heartbeat-ms"));
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return settings;
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args.get("bootstrap"));
        settings.put("reconnect.backoff.max.ms", "500");
        return settings;
    }

    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<String[]> commands = Protocol.commands();
        Transactional program = new Transactional(Protocol.arguments(args));
        Protocol.say("ready");
        for (String[] words = commands.take(); !words[0].equals("close"); words = commands.take()) {
            try {
                program.answer(words);
                Protocol.say("reply", "ok", true);
            } catch (UnsupportedOperationException problem) {
                Protocol.say("reply", "ok", false, "unsupported", true, "error", words[0]);
            } catch (KafkaException problem) {
                Protocol.say("reply", "ok", false, "error", Protocol.words(problem));
            }
        }
        Protocol.say("closed");
        // What it has open would keep a close waiting.
        Runtime.getRuntime().halt(0);
    }

    private void answer(String[] words) {
        switch (words[0]) {
            case "join" -> join();
            case "init" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "send" -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(args.get("topic"), Integer.parseInt(words[1])),
                    new OffsetAndMetadata(Long.parseLong(words[2]))),
                consumer.groupMetadata());
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new UnsupportedOperationException(words[0]);
        }
    }

    /** Becomes a member, so that the group's coordinator knows it and its generation. */
    private void join() {
        consumer.subscribe(Set.of(args.get("topic")));
        while (consumer.assignment().isEmpty()) {
            consumer.poll(Duration.ofMillis(50));
        }
    }
}
