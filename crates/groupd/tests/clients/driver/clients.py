"""The clients under test: how each program is started and what it is known not to do."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groupd-clients"

JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx192m", "-cp"]
JAVA_PATH = f"{CACHE}/java/classes:{CACHE}/java/jars/*"


@dataclass
class Client:
    name: str
    language: str
    member: list[str]
    admin: list[str] | None = None
    # A transactional producer, if it can commit offsets without producing records.
    transactional: list[str] | None = None
    # Why nothing of a transaction is sent before its end, if so.
    sends_at_commit: str = ""
    # Why its commit is not finished after a restart of the server, if so.
    no_retry: str = ""
    # What to have on the machine for it, beyond what the installer brings.
    needs: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    # Why it has no check of static members, if it has none.
    no_static: str = ""
    # Why a fenced member cannot say so.
    no_fenced: str = ""
    # Why a static member that is closed makes a rebalance, if it does.
    static_leaves: str = ""
    # Its own commits cannot be ordered: the driver commits, the client tells where it goes on reading.
    commits: bool = True
    # Why it may join again by itself when all is well; if its leader does, the server must rebalance.
    rejoins: str = ""

    def arguments(self, command, server, group="", topic="", instance=None, session=6, heartbeat_ms=1000):
        extra = ["--instance", instance] if instance else []
        return [*command, "--bootstrap", server.bootstrap, "--group", group, "--topic", topic,
                "--session-ms", str(session * 1000), "--heartbeat-ms", str(heartbeat_ms), *extra]  # fmt: skip


def python(program):
    return [str(CACHE / "python" / "bin" / "python"), "-u", str(HERE / "python" / program)]


def node(program):
    return ["node", str(CACHE / "node" / program)]


def go(program):
    return [str(CACHE / "go" / program)]


CLIENTS = [
    Client("kcat", "kcat", [*python("kcat_member.py")], needs="kcat", commits=False),
    Client(
        "confluent-kafka",
        "python",
        python("confluent_member.py"),
        python("confluent_admin.py"),
        python("confluent_transactional.py"),
        needs="python3",
    ),
    Client(
        "kafka-python",
        "python",
        python("kafka_python_member.py"),
        python("kafka_python_admin.py"),
        python("kafka_python_transactional.py"),
        no_retry="it finds its coordinator again, and then sends nothing more",
        needs="python3",
        rejoins="it joined before it knew the topic's partitions, and as the leader again when it did",
    ),
    Client(
        "aiokafka",
        "python",
        python("aiokafka_member.py"),
        transactional=python("aiokafka_transactional.py"),
        needs="python3",
        no_fenced="it heartbeats by version 1, which has no instance id",
    ),
    Client(
        "kafkajs",
        "node",
        node("kafkajs_member.mjs"),
        node("kafkajs_admin.mjs"),
        node("kafkajs_transactional.mjs"),
        needs="node",
        no_static="kafkajs has no group.instance.id",
        no_retry="it sends EndTxn once, and leaves it to the application that the coordinator is still loading",
    ),
    Client(
        "platformatic",
        "node",
        node("platformatic_member.mjs"),
        node("platformatic_admin.mjs"),
        needs="node",
        static_leaves="its close sends LeaveGroup for a static member too",
    ),
    Client(
        "java",
        "java",
        [*JAVA, JAVA_PATH, "Member"],
        [*JAVA, JAVA_PATH, "Admin"],
        [*JAVA, JAVA_PATH, "Transactional"],
        needs="java",
    ),
    Client("franz-go", "go", go("franz"), [*go("franz"), "--admin"], go("franz"), needs="go"),
    Client(
        "sarama",
        "go",
        go("sarama"),
        [*go("sarama"), "--admin"],
        go("sarama"),
        sends_at_commit="it sends offsets when it commits, and not before",
        needs="go",
    ),
]

CONSUMER_GROUPS_TOOL = [*JAVA, JAVA_PATH, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]


def missing(client):
    """What the machine lacks for this client, or None."""
    if not shutil.which(client.needs):
        return client.needs
    program = client.member[0]
    installed = shutil.which(program) and (CACHE / "installed" / client.language).exists()
    return None if installed else f"an installed {client.language} client"
