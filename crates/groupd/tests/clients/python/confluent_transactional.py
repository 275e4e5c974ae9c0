"""A transactional producer by confluent-kafka (librdkafka), and if it is to join the group its consumer."""

import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from protocol import arguments, serve_admin

args = arguments()
SETTINGS = {
    "bootstrap.servers": args.bootstrap,
    "reconnect.backoff.max.ms": 500,
    # Else it forgets its only broker when that goes away, and waits for it where it has no address any more.
    "metadata.recovery.strategy": "none",
}
producer = Producer(
    {
        **SETTINGS,
        "transactional.id": args.transactional_id,
        "transaction.timeout.ms": args.timeout_ms,
        "socket.timeout.ms": min(10_000, args.timeout_ms),
        # Its errors are told by the calls that they are about.
        "error_cb": lambda problem: None,
    }
)
consumer = Consumer(
    {
        **SETTINGS,
        "group.id": args.group,
        "session.timeout.ms": args.session_ms,
        "heartbeat.interval.ms": args.heartbeat_ms,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
)


def patiently(call, *rest):
    """An error that is retriable is to be tried again, says the client's guide."""
    end = time.monotonic() + 40
    while True:
        try:
            return call(*rest)
        except KafkaException as problem:
            if not problem.args[0].retriable() or time.monotonic() > end:
                raise
            time.sleep(0.1)


def join():
    """Becomes a member, so that the group's coordinator knows it and its generation."""
    consumer.subscribe([args.topic])
    while not consumer.assignment():
        consumer.poll(0.05)


def send(partition, offset):
    offsets = [TopicPartition(args.topic, int(partition), int(offset))]
    patiently(producer.send_offsets_to_transaction, offsets, consumer.consumer_group_metadata(), 10)


serve_admin(
    {
        "join": join,
        "init": lambda: patiently(producer.init_transactions, 10),
        "begin": producer.begin_transaction,
        "send": send,
        "commit": lambda: patiently(producer.commit_transaction, 10),
        "abort": lambda: patiently(producer.abort_transaction, 10),
    }
)
