"""The few requests by which the driver looks at a group itself, whatever its clients say."""

import socket
import struct
import time
from dataclasses import dataclass, field

OFFSET_COMMIT, OFFSET_FETCH, HEARTBEAT, DESCRIBE_GROUPS, API_VERSIONS, CREATE_TOPICS = 8, 9, 12, 15, 18, 19

REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID = 27, 82


class Writer:
    def __init__(self):
        self.bytes = bytearray()

    def put(self, layout, *values):
        self.bytes += struct.pack(">" + layout, *values)
        return self

    def string(self, text):
        if text is None:
            return self.put("h", -1)
        self.put("h", len(text.encode()))
        self.bytes += text.encode()
        return self

    def strings(self, *texts):
        for text in texts:
            self.string(text)
        return self


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise EOFError("a short answer")
        self.at += count
        return taken

    def get(self, layout):
        (value,) = struct.unpack(">" + layout, self.take(struct.calcsize(">" + layout)))
        return value

    def string(self):
        length = self.get("h")
        return None if length < 0 else self.take(length).decode()

    def bytes(self):
        length = self.get("i")
        return b"" if length < 0 else self.take(length)

    def list(self, item):
        return [item() for _ in range(self.get("i"))]


@dataclass
class Member:
    id: str
    instance: str | None
    partitions: list[int] = field(default_factory=list)


@dataclass
class Group:
    state: str
    members: list[Member]

    def ids(self):
        return sorted(m.id for m in self.members)

    def divided(self, count):
        """Whether the members own `count` partitions, each exactly once."""
        return sorted(p for m in self.members for p in m.partitions) == list(range(count))

    def assignments(self):
        return sorted((m.id, m.partitions) for m in self.members)


class Observer:
    """One connection to the server, made again when it breaks."""

    def __init__(self, port):
        self.port, self.socket = port, None

    def request(self, key, version, body, timeout=10):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            header = Writer().put("hhi", key, version, 7).string("observer").bytes
            frame = bytes(header + body.bytes)
            self.socket.sendall(struct.pack(">i", len(frame)) + frame)
            (length,) = struct.unpack(">i", self._read(4))
            answer = Reader(self._read(length))
        except OSError:
            self.close()
            raise
        assert answer.get("i") == 7, "correlation id"
        return answer

    def _read(self, count):
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError("the server closed the connection")
            data += part
        return bytes(data)

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def answers(self):
        try:
            return self.request(API_VERSIONS, 0, Writer(), timeout=2).get("h") == 0
        except (OSError, EOFError):
            return False

    def create_topic(self, name, partitions):
        body = Writer().put("i", 1).string(name).put("ihii", partitions, 1, 0, 0).put("i", 15000).put("?", False)
        answer = self.request(CREATE_TOPICS, 4, body, timeout=20)
        answer.get("i")
        ((_, error, message),) = answer.list(lambda: (answer.string(), answer.get("h"), answer.string()))
        assert error in (0, 36), f"CreateTopics: {error} {message}"

    def describe(self, group):
        answer = self.request(DESCRIBE_GROUPS, 4, Writer().put("i", 1).string(group).put("?", False))
        answer.get("i")
        assert answer.get("i") == 1
        error, _, state = answer.get("h"), answer.string(), answer.string()
        answer.string(), answer.string()

        def member():
            found = Member(answer.string(), answer.string())
            answer.string(), answer.string(), answer.bytes()
            found.partitions = assigned(answer.bytes())
            return found

        members = answer.list(member)
        return Group(state if error == 0 else f"error {error}", members)

    def heartbeat(self, group, generation, member):
        body = Writer().string(group).put("i", generation).strings(member.id, member.instance)
        answer = self.request(HEARTBEAT, 3, body)
        answer.get("i")
        return answer.get("h")

    def generation(self, group):
        """The group's generation, found by asking a living member's heartbeat for each; None if it has no members."""
        members = self.describe(group).members
        if not members:
            return None
        for generation in range(60):
            if self.heartbeat(group, generation, members[-1]) in (0, REBALANCE_IN_PROGRESS):
                return generation
        return None

    def offsets(self, group, topic, count):
        body = Writer().string(group).put("i", 1).string(topic).put("i", count)
        for partition in range(count):
            body.put("i", partition)
        answer = self.request(OFFSET_FETCH, 5, body)
        answer.get("i")

        def partition():
            index, offset, _epoch = answer.get("i"), answer.get("q"), answer.get("i")
            answer.string()
            assert answer.get("h") == 0
            return index, offset

        found = answer.list(lambda: (answer.string(), answer.list(partition)))
        if error := answer.get("h"):
            raise ConnectionError(f"OffsetFetch: error {error}")
        return dict(found[0][1])

    def offsets_once_loaded(self, group, topic, count):
        """The same from a coordinator that has just begun to run."""

        def loaded():
            try:
                return self.offsets(group, topic, count)
            except (OSError, EOFError):
                return None

        return wait_for(loaded, 30)

    def commit(self, group, topic, offsets):
        """Commits as a tool does: without a member, to a group that has none."""
        body = Writer().string(group).put("i", -1).strings("", None).put("i", 1).string(topic).put("i", len(offsets))
        for partition, offset in offsets.items():
            body.put("iqi", partition, offset, -1).string("")
        answer = self.request(OFFSET_COMMIT, 7, body)
        answer.get("i")
        (found,) = answer.list(
            lambda: (answer.string(), answer.list(lambda: (answer.get("i"), answer.get("h"))))
        )
        assert all(error == 0 for _, error in found[1]), f"OffsetCommit: {found}"


def assigned(data):
    """The partitions in an assignment of the `consumer` protocol."""
    if not data:
        return []
    reader = Reader(data)
    reader.get("h")
    topics = reader.list(lambda: (reader.string(), reader.list(lambda: reader.get("i"))))
    return sorted(p for _, partitions in topics for p in partitions)


def wait_for(condition, timeout, every=0.05):
    """Asks until the answer is true, and gives it; None after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            return None
        time.sleep(every)
