"""The members of one group, started and watched together."""

import time

from program import Program
from wire import wait_for

PARTITIONS = 6
SESSION, HEARTBEAT = 6.0, 1.0
# A JVM on a busy machine takes this long to its first assignment.
FORMATION = 45.0
# What a rebalance may take beyond what its protocol waits for: two rounds of join and sync on a busy machine.
SLACK = 3.0


class Members:
    def __init__(self, client, server, group, topic, log, session=6, heartbeat_ms=1000):
        self.client, self.server, self.group, self.topic, self.log = client, server, group, topic, log
        self.session, self.heartbeat_ms = session, heartbeat_ms
        self.programs = {}

    def start(self, name, instance=None):
        command = self.client.arguments(
            self.client.member, self.server, self.group, self.topic, instance, self.session, self.heartbeat_ms
        )
        program = Program(f"{self.group}/{name}", command, self.client.environment, self.log)
        self.programs[name] = program
        return program

    def living(self):
        return {name: p for name, p in self.programs.items() if p.running()}

    def describe(self):
        return self.server.observer.describe(self.group)

    def together(self, count):
        """Whether `count` members own all partitions, each exactly once: they say so, and the server does too."""
        owned = [self.programs[name].assignment()[0] for name in self.living()]
        if len(owned) != count or sorted(p for part in owned for p in part) != list(range(PARTITIONS)):
            return False
        try:
            found = self.describe()
        except OSError:
            return False
        told = sorted(m.partitions for m in found.members)
        return found.state == "Stable" and told == sorted(map(sorted, owned))

    def wait_together(self, count, timeout=FORMATION):
        return wait_for(lambda: self.together(count), timeout)

    def state(self):
        owned = {name: p.assignment()[0] for name, p in self.living().items()}
        words = [f"{name}: {p.last_words()}" for name, p in self.programs.items() if p.last_words()]
        return f"owned {owned}, server {self.describe()}; {'; '.join(words)}"

    def commit(self, name, partition, offset, timeout=25.0):
        """Commits through a member and waits for its word; False if it says no or nothing."""
        program = self.programs[name]
        mark = program.mark()
        program.command("commit", partition, offset)
        answer = program.wait(
            mark,
            ("committed", "commit_failed"),
            timeout,
            lambda e: (e.fields["partition"], e.fields["offset"]) == (partition, offset),
        )
        return answer is not None and answer.kind == "committed"

    def offsets(self, name, timeout=20.0):
        program = self.programs[name]
        mark = program.mark()
        program.command("offsets")
        answer = program.wait(mark, ("offsets",), timeout)
        return None if answer is None else {int(p): o for p, o in answer.fields["offsets"].items()}

    def close(self, name, timeout=20.0):
        """Closes a member; how many seconds it took to say so, or None."""
        program = self.programs[name]
        began = time.monotonic()
        mark = program.mark()
        program.command("close")
        if program.wait(mark, ("closed",), timeout) is None:
            return None
        took = time.monotonic() - began
        wait_for(lambda: not program.running(), 5)
        return took

    def close_all(self):
        for name in list(self.living()):
            self.programs[name].command("close")
        wait_for(lambda: not self.living(), 20)
        self.kill_all()

    def kill_all(self):
        for program in self.programs.values():
            program.kill()
