"""The server under test: groupd, or a real Apache Kafka to test the suite itself against."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from wire import Observer, wait_for

REPOSITORY = Path(__file__).resolve().parents[5]
# The suite's own range, below those that the system hands out.
PORTS = iter(range(int(os.environ.get("CLIENT_SUITE_PORT", "19320")), 19500, 2))

# As Kafka and groupd put it.
LEADER_REJOINED = re.compile(r"leader rejoined|Leader \S+ re-joining group")


def free_port():
    """A port that nobody listens on now; the one after it is left to Kafka's controller."""
    for port in PORTS:
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port is left in the suite's range")


class Server:
    # The session timeout of members that live through the server's restart, in seconds.
    restart_session = 6

    def __init__(self, directory, topics):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.topics = topics
        self.port = free_port()
        self.observer = Observer(self.port)
        self.process = None

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def log_file(self):
        return self.directory / "server.log"

    def log_mark(self):
        """A place in the server's log, to look only at what comes after it."""
        return self.log_file().stat().st_size

    def leader_rejoined(self, group, mark):
        """Whether it says since `mark` that the group's leader asked for a rebalance by joining again."""
        with open(self.log_file(), errors="replace") as log:
            log.seek(mark)
            return any(group in line and LEADER_REJOINED.search(line) for line in log)

    def start(self):
        log = open(self.directory / "server.log", "ab")
        self.process = subprocess.Popen(
            self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
        started = time.monotonic()
        if not wait_for(lambda: self.process.poll() is not None or self.observer.answers(), 60, every=0.01):
            raise RuntimeError(f"{self.name} does not answer; see {self.directory}/server.log")
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}; see {self.directory}/server.log")
        return time.monotonic() - started

    def kill(self):
        """As the machine would: nothing is answered, nothing is written."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
        self.observer.close()


class Groupd(Server):
    name = "groupd"

    def command(self):
        binary = os.environ.get("GROUPD", str(REPOSITORY / "target" / "debug" / "groupd"))
        command = [binary, "serve", "--listen", self.bootstrap, "--data-dir", str(self.directory / "data"),
                   "--http", "off", "--set", "group.initial.rebalance.delay.ms=500"]  # fmt: skip
        for name, partitions in self.topics.items():
            command += ["--topic", f"{name}:{partitions}"]
        return command


class Kafka(Server):
    name = "kafka"
    filled = False
    # A killed broker is not let back in before its own session with the controller is over: 10 s and more.
    restart_session = 45

    def command(self):
        script = REPOSITORY / "benches" / "kafka" / "run-kafka"
        return [str(script), "--port", str(self.port), "--data", str(self.directory / "data"),
                "auto.create.topics.enable=true", "group.initial.rebalance.delay.ms=500",
                "broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500"]  # fmt: skip

    def log_file(self):
        return self.directory / "data" / "kafka.log"

    def start(self):
        took = super().start()
        # A single broker is there before its coordinator is: a group's first look-up makes the offsets topic.
        for name, partitions in self.topics.items():
            wait_for(lambda: self.made(name, partitions), 60)
            if not self.filled:
                self.fill(name, partitions)
        self.filled = True
        return took

    def fill(self, topic, partitions):
        """Records for the offsets that the suite commits: a client resets an offset beyond the log's end."""
        for partition in range(partitions):
            command = ["kcat", "-P", "-b", self.bootstrap, "-t", topic, "-p", str(partition)]
            records = "".join(f"{n}\n" for n in range(20_000))
            subprocess.run(command, input=records, text=True, check=True, timeout=60)

    def made(self, name, partitions):
        try:
            self.observer.create_topic(name, partitions)
            return True
        except (AssertionError, OSError, EOFError):
            return False


def scratch():
    return tempfile.mkdtemp(prefix="groupd-clients-")
