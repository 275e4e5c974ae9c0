"""A member by aiokafka."""

import asyncio

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError
from protocol import arguments, commands, error, next_command, say, tell_logged_errors

args = arguments()
tell_logged_errors("aiokafka")
lines = commands()


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        say("assigned", partitions=sorted(tp.partition for tp in assigned))

    def on_partitions_revoked(self, revoked):
        say("revoked", partitions=sorted(tp.partition for tp in revoked))


async def commit(consumer, partition, offset):
    try:
        await consumer.commit({TopicPartition(args.topic, partition): offset})
        say("committed", partition=partition, offset=offset)
    except KafkaError as problem:
        say("commit_failed", partition=partition, offset=offset, error=repr(problem))


async def offsets(consumer):
    found = {}
    for partition in consumer.partitions_for_topic(args.topic):
        offset = await consumer.committed(TopicPartition(args.topic, partition))
        found[partition] = -1 if offset is None else offset
    say("offsets", offsets=found)


async def main():
    consumer = AIOKafkaConsumer(
        bootstrap_servers=args.bootstrap,
        group_id=args.group,
        group_instance_id=args.instance,
        session_timeout_ms=args.session_ms,
        heartbeat_interval_ms=args.heartbeat_ms,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    consumer.subscribe([args.topic], listener=Listener())
    await consumer.start()
    while True:
        try:
            await consumer.getmany(timeout_ms=50)
            match next_command(lines):
                case None:
                    pass
                case ["commit", partition, offset]:
                    await commit(consumer, int(partition), int(offset))
                case ["offsets"]:
                    await offsets(consumer)
                case ["close"]:
                    await consumer.stop()
                    say("closed")
                    return
        except KafkaError as problem:
            error(problem)


asyncio.run(main())
