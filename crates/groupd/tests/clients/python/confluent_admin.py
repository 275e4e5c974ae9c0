"""The AdminClient of confluent-kafka."""

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from protocol import arguments, serve_admin

args = arguments()
client = AdminClient({"bootstrap.servers": args.bootstrap})


def only(futures):
    (future,) = futures.values()
    return future.result(timeout=15)


def describe(group):
    found = only(client.describe_consumer_groups([group], request_timeout=10))
    members = [sorted(tp.partition for tp in member.assignment.topic_partitions) for member in found.members]
    return {"state": found.state.name.title().replace("_", ""), "members": members}


def offsets(group, topic):
    found = only(client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    return {tp.partition: tp.offset for tp in found.topic_partitions if tp.topic == topic}


def set_offset(group, topic, partition, offset):
    wanted = TopicPartition(topic, int(partition), int(offset))
    found = only(client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [wanted])]))
    for tp in found.topic_partitions:
        if tp.error:
            raise RuntimeError(tp.error.str())


serve_admin({
    "list": lambda: [g.group_id for g in client.list_consumer_groups().result(timeout=15).valid],
    "describe": describe,
    "offsets": offsets,
    "set": set_offset,
    "delete": lambda group: only(client.delete_consumer_groups([group], request_timeout=10)),
    "create": lambda topic, count: only(client.create_topics([NewTopic(topic, int(count), 1)])),
    "delete-topic": lambda topic: only(client.delete_topics([topic])),
    "topics": lambda: {t.topic: len(t.partitions) for t in client.list_topics(timeout=10).topics.values()},
})
