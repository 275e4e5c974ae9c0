"""A transactional producer by kafka-python. It commits by the group's name alone."""

from kafka import KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from protocol import arguments, serve_admin

args = arguments()
producer = KafkaProducer(
    bootstrap_servers=args.bootstrap,
    transactional_id=args.transactional_id,
    transaction_timeout_ms=args.timeout_ms,
    request_timeout_ms=5000,
    max_block_ms=40_000,
)


def send(partition, offset):
    offsets = {TopicPartition(args.topic, int(partition)): OffsetAndMetadata(int(offset), "", -1)}
    producer.send_offsets_to_transaction(offsets, args.group)


serve_admin(
    {
        "init": producer.init_transactions,
        "begin": producer.begin_transaction,
        "send": send,
        "commit": producer.commit_transaction,
        "abort": producer.abort_transaction,
    }
)
