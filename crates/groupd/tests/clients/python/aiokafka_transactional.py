"""A transactional producer by aiokafka. It commits by the group's name alone."""

import asyncio

from aiokafka import AIOKafkaProducer, TopicPartition
from protocol import arguments, serve_admin

args = arguments()
loop = asyncio.new_event_loop()
producer = None


def run(work):
    """Everything of aiokafka runs on its loop; a step that takes for ever is refused."""
    return loop.run_until_complete(asyncio.wait_for(work, 40))


async def start():
    """It initialises its id as it starts."""
    global producer
    producer = AIOKafkaProducer(
        bootstrap_servers=args.bootstrap,
        transactional_id=args.transactional_id,
        transaction_timeout_ms=args.timeout_ms,
        request_timeout_ms=5000,
    )
    await producer.start()


async def send(partition, offset):
    offsets = {TopicPartition(args.topic, int(partition)): int(offset)}
    await producer.send_offsets_to_transaction(offsets, args.group)


serve_admin(
    {
        "init": lambda: run(start()),
        "begin": lambda: run(producer.begin_transaction()),
        "send": lambda partition, offset: run(send(partition, offset)),
        "commit": lambda: run(producer.commit_transaction()),
        "abort": lambda: run(producer.abort_transaction()),
    }
)
