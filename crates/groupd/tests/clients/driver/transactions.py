"""What every transactional producer must see whose transactions commit offsets: one story."""

import time

from administration import Admin
from members import PARTITIONS
from wire import wait_for

# A transaction that nobody ends is aborted after this, in seconds.
TIMEOUT = 3
FINISHED = "a commit is finished by the client's retry after a kill -9 of the server"
LEFT_OPEN = "what is left open is aborted at its timeout"


class Producer(Admin):
    """A program with a transactional producer, and perhaps the consumer whose offsets it commits."""

    def __init__(self, name, client, server, where, log, timeout=60):
        group, topic = where
        command = client.arguments(client.transactional, server, group, topic)
        command += ["--transactional-id", f"{group}-id", "--timeout-ms", str(timeout * 1000)]
        self.begin(f"{group}/{name}", command, client, log)

    def all_of(self, *commands):
        """Gives the commands one after the other; the first answer that is no success, or the last."""
        for words in commands:
            answer = self.ask(*words, timeout=60)
            if not answer["ok"]:
                break
        return answer

    def transaction(self, offsets, end):
        sends = [("send", partition, offset) for partition, offset in offsets.items()]
        return self.all_of(("begin",), *sends, (end,))

    def open(self, offsets):
        return self.all_of(("begin",), *(("send", partition, offset) for partition, offset in offsets.items()))


def offsets_in_transactions(client, server, topic, report, log):
    """Offsets are seen once their transaction is committed; zombies, kills and restarts change nothing of that."""
    group = f"{client.name}-transactions"
    producers = []

    def start(name, **more):
        producers.append(Producer(name, client, server, (group, topic), log, **more))
        return producers[-1]

    def check(title, passed, remark=""):
        return report.check(client.name, f"transactions: {title}", passed, "" if passed else remark)

    story = Story(server, group, topic, start, check)
    try:
        first = start("first")
        ready = first.all_of(("init",))
        if not check("a producer initialises its id", first.ready and ready["ok"], str(ready)):
            return
        story.joins(first, client, report)
        story.commits_and_aborts(first)
        second = story.fences(first)
        second = story.dies_in_the_middle(second)
        if client.no_retry:
            report.left_out(client.name, f"transactions: {FINISHED}", client.no_retry)
        else:
            story.server_dies(second)
        if client.sends_at_commit:
            report.left_out(client.name, f"transactions: {LEFT_OPEN}", client.sends_at_commit)
        else:
            story.left_open(second)
    finally:
        for producer in producers:
            producer.program.kill()


class Story:
    """The group's committed offsets, as the server tells them, and what they ought to be."""

    def __init__(self, server, group, topic, start, check):
        self.server, self.group, self.topic = server, group, topic
        self.start, self.check = start, check
        self.expected = dict.fromkeys(range(PARTITIONS), -1)

    def stored(self):
        return self.server.observer.offsets_once_loaded(self.group, self.topic, PARTITIONS)

    def as_expected(self, timeout=10):
        """Whether they are, by and by: a real Kafka answers before its markers are written."""
        return bool(wait_for(lambda: self.stored() == self.expected, timeout))

    def told(self, answer):
        return f"{answer}; stored {self.stored()}, expected {self.expected}"

    def joins(self, producer, client, report):
        joined = producer.ask("join", timeout=60)
        if joined.get("unsupported"):
            why = "it commits by the group's name alone"
            report.left_out(client.name, "transactions: the consumer is a member of the group", why)
        else:
            self.check("the consumer is a member of the group", joined["ok"], str(joined))

    def commits_and_aborts(self, producer):
        """Twenty turns of a consume-process-commit loop, each seen at its end and not before; every fourth is aborted."""
        unseen, answer = True, {"ok": True}
        for turn in range(1, 21):
            offsets = {partition: 100 * turn + partition for partition in range(PARTITIONS)}
            answer = producer.open(offsets)
            unseen = unseen and self.stored() == self.expected
            aborted = turn % 4 == 0
            if answer["ok"]:
                answer = producer.ask("abort" if aborted else "commit", timeout=60)
            if not aborted:
                self.expected = offsets
            if not answer["ok"] or not unseen or not self.as_expected():
                break
        self.check("offsets are seen when they are committed", answer["ok"] and self.as_expected(), self.told(answer))
        self.check("and not before, nor when they are aborted", unseen, self.told(answer))

    def fences(self, zombie):
        """Another instance takes the id over, while a transaction is open: it is aborted and its producer fenced."""
        opened = zombie.open(dict.fromkeys(range(PARTITIONS), 7_000))
        heir = self.start("second")
        answer = heir.all_of(("init",))
        passed = opened["ok"] and answer["ok"] and self.as_expected()
        self.check("a second instance aborts what the first left open", passed, self.told(answer))
        refused = zombie.ask("commit", timeout=60)
        told = refused.get("error", "").lower()
        # Sarama has no name for PRODUCER_FENCED.
        fenced = not refused["ok"] and any(word in told for word in ("fenced", "epoch", "error code = 90"))
        self.check("a zombie is fenced", fenced and self.as_expected(), self.told(refused))
        self.expected = dict.fromkeys(range(PARTITIONS), 3_000)
        answer = heir.transaction(self.expected, "commit")
        self.check("the second instance commits", answer["ok"] and self.as_expected(), self.told(answer))
        zombie.program.kill()
        return heir

    def dies_in_the_middle(self, producer):
        """A producer is killed with -9 in a transaction: the next one aborts it and does its work again."""
        opened = producer.open(dict.fromkeys(range(PARTITIONS), 8_000))
        producer.program.kill()
        heir = self.start("third", timeout=TIMEOUT)
        answer = heir.all_of(("init",))
        passed = opened["ok"] and answer["ok"] and self.as_expected()
        self.check("what a killed producer left open is aborted", passed, self.told(answer))
        self.expected = dict.fromkeys(range(PARTITIONS), 4_000)
        answer = heir.transaction(self.expected, "commit")
        self.check("and its heir does it again", answer["ok"] and self.as_expected(), self.told(answer))
        heir.program.kill()
        heir = self.start("fourth")
        heir.all_of(("init",))
        return heir

    def server_dies(self, producer):
        """The server is killed with -9 between sending and committing, and before a transaction begins."""
        answer = {"ok": True}
        for offset in (5_000, 6_000, 6_500):
            wanted = dict.fromkeys(range(PARTITIONS), offset)
            answer = producer.open(wanted)
            if not answer["ok"]:
                break
            mark = producer.program.mark()
            self.server.kill()
            producer.program.command("commit")
            time.sleep(0.5)
            self.server.start()
            reply = producer.program.wait(mark, ("reply",), 60)
            answer = reply.fields if reply else {"ok": False, "error": producer.program.last_words()}
            if not answer["ok"]:
                break
            self.expected = wanted
            if not self.as_expected():
                break
        self.check(FINISHED, answer["ok"] and self.as_expected(), self.told(answer))

    def left_open(self, producer):
        """A transaction that is never ended does not stay."""
        producer.program.kill()
        late = self.start("late", timeout=TIMEOUT)
        answer = late.all_of(("init",))
        opened = late.open(dict.fromkeys(range(PARTITIONS), 9_000))
        time.sleep(TIMEOUT + 2)
        refused = late.ask("commit", timeout=60)
        passed = answer["ok"] and opened["ok"] and not refused["ok"] and self.as_expected()
        self.check(LEFT_OPEN, passed, self.told(refused))
