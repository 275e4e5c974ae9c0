"""A member by confluent-kafka (librdkafka)."""

from confluent_kafka import Consumer, KafkaException, TopicPartition
from protocol import arguments, commands, error, next_command, say

args = arguments()
lines = commands()

settings = {
    "bootstrap.servers": args.bootstrap,
    "group.id": args.group,
    "session.timeout.ms": args.session_ms,
    "heartbeat.interval.ms": args.heartbeat_ms,
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    # Back as soon as a restarted server is: the default waits up to 10 s.
    "reconnect.backoff.max.ms": 500,
    "error_cb": error,
}
if args.instance:
    settings["group.instance.id"] = args.instance

consumer = Consumer(settings)


def partitions(topic_partitions):
    return sorted(tp.partition for tp in topic_partitions)


def on_assign(consumer, assigned):
    consumer.assign(assigned)
    say("assigned", partitions=partitions(assigned))


def on_revoke(consumer, revoked):
    consumer.unassign()
    say("revoked", partitions=partitions(revoked))


def commit(partition, offset):
    wanted = TopicPartition(args.topic, partition, offset)
    try:
        for result in consumer.commit(offsets=[wanted], asynchronous=False):
            if result.error:
                raise KafkaException(result.error)
        say("committed", partition=partition, offset=offset)
    except KafkaException as problem:
        say("commit_failed", partition=partition, offset=offset, error=str(problem))


def offsets():
    known = consumer.list_topics(args.topic, timeout=10).topics[args.topic].partitions
    found = consumer.committed([TopicPartition(args.topic, p) for p in known], timeout=10)
    say("offsets", offsets={tp.partition: max(tp.offset, -1) for tp in found})


consumer.subscribe([args.topic], on_assign=on_assign, on_revoke=on_revoke)
while True:
    message = consumer.poll(0.05)
    if message is not None and message.error():
        error(message.error())
    match next_command(lines):
        case None:
            pass
        case ["commit", partition, offset]:
            commit(int(partition), int(offset))
        case ["offsets"]:
            try:
                offsets()
            except KafkaException as problem:
                error(problem)
        case ["close"]:
            consumer.close()
            say("closed")
            break
