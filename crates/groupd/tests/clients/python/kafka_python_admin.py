"""The KafkaAdminClient of kafka-python."""

from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic, OffsetSpec
from protocol import arguments, serve_admin

args = arguments()
client = KafkaAdminClient(bootstrap_servers=args.bootstrap)


def describe(group):
    found = client.describe_groups([group])[group]
    members = []
    for member in found["members"]:
        assigned = member["member_assignment"]["assigned_partitions"]
        members.append(sorted(p for topic in assigned for p in topic["partitions"]))
    return {"state": found["group_state"], "members": members}


def offsets(group, topic):
    found = client.list_group_offsets({group: None})[group]
    return {tp.partition: at.offset for tp, at in found.items() if tp.topic == topic}


def checked(results):
    for error in results.values():
        if isinstance(error, dict):
            error = error["error"]
        name = error if isinstance(error, str) else error.__name__
        if name not in ("OK", "NoError"):
            raise RuntimeError(name)


def set_offset(group, topic, partition, offset):
    at = OffsetAndMetadata(int(offset), "", -1)
    checked(client.alter_group_offsets(group, {TopicPartition(topic, int(partition)): at}))


def reset(group, topic):
    wanted = {TopicPartition(topic, p): OffsetSpec.EARLIEST for p in offsets(group, topic)}
    checked(client.reset_group_offsets(group, wanted))
    return 0


def delete_offset(group, topic, partition):
    checked(client.delete_group_offsets(group, [TopicPartition(topic, int(partition))]))


def topics():
    return {t["name"]: len(t["partitions"]) for t in client.describe_topics()}


serve_admin({
    "list": lambda: [g["group_id"] for g in client.list_groups()],
    "describe": describe,
    "offsets": offsets,
    "set": set_offset,
    "reset": reset,
    "delete-offset": delete_offset,
    "delete": lambda group: checked(client.delete_groups([group])),
    "create": lambda topic, count: str(client.create_topics([NewTopic(topic, int(count), 1)])),
    "delete-topic": lambda topic: str(client.delete_topics([topic])),
    "topics": topics,
})
