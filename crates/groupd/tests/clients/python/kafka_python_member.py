"""A member by kafka-python."""

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError
from protocol import arguments, commands, error, next_command, say, tell_logged_errors

args = arguments()
# A fenced member's poll goes on without a word.
tell_logged_errors("kafka")
lines = commands()


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        say("assigned", partitions=sorted(tp.partition for tp in assigned))

    def on_partitions_revoked(self, revoked):
        say("revoked", partitions=sorted(tp.partition for tp in revoked))


consumer = KafkaConsumer(
    bootstrap_servers=args.bootstrap,
    group_id=args.group,
    group_instance_id=args.instance,
    session_timeout_ms=args.session_ms,
    heartbeat_interval_ms=args.heartbeat_ms,
    enable_auto_commit=False,
    auto_offset_reset="earliest",
    reconnect_backoff_max_ms=500,
)


def commit(partition, offset):
    try:
        consumer.commit({TopicPartition(args.topic, partition): OffsetAndMetadata(offset, "", -1)})
        say("committed", partition=partition, offset=offset)
    except KafkaError as problem:
        say("commit_failed", partition=partition, offset=offset, error=repr(problem))


def offsets():
    found = {}
    for partition in consumer.partitions_for_topic(args.topic):
        offset = consumer.committed(TopicPartition(args.topic, partition))
        found[partition] = -1 if offset is None else offset
    say("offsets", offsets=found)


consumer.subscribe([args.topic], listener=Listener())
while True:
    try:
        consumer.poll(timeout_ms=50)
        match next_command(lines):
            case None:
                pass
            case ["commit", partition, offset]:
                commit(int(partition), int(offset))
            case ["offsets"]:
                offsets()
            case ["close"]:
                consumer.close()
                say("closed")
                break
    except KafkaError as problem:
        error(problem)
