"""What every admin client must see and be able to do, Kafka's own tool among them."""

import subprocess

from clients import CONSUMER_GROUPS_TOOL
from members import PARTITIONS, Members
from program import Program
from wire import wait_for


class Admin:
    """An admin program that answers commands."""

    def __init__(self, client, server, log):
        self.begin(f"{client.name}-admin", client.arguments(client.admin, server), client, log)

    def begin(self, name, command, client, log):
        self.program = Program(name, command, client.environment, log)
        self.ready = self.program.wait(0, ("ready",), 40) is not None

    def ask(self, *words, timeout=30):
        """The answer: {"ok": true, "result": ...} or {"ok": false, "error": ...}."""
        mark = self.program.mark()
        self.program.command(*words)
        answer = self.program.wait(mark, ("reply",), timeout)
        return answer.fields if answer else {"ok": False, "error": f"no answer; {self.program.last_words()}"}

    def until(self, accept, *words, timeout=10):
        """Asks again until the result is as wanted (a listing may be a moment behind): the last answer."""
        answer = {}

        def asked():
            answer.update(self.ask(*words))
            return answer["ok"] and accept(answer["result"])

        wait_for(asked, timeout, every=0.3)
        return answer

    def close(self):
        self.program.command("close")
        wait_for(lambda: not self.program.running(), 5)
        self.program.kill()


def admin_client(client, server, topic, report, log):
    """One client's admin over a group that has one member, and then none."""
    group = f"{client.name}-admin"
    members = Members(client, server, group, topic, log)
    admin = Admin(client, server, log)

    def check(title, answer, accept):
        passed = answer["ok"] and accept(answer.get("result"))
        report.check(client.name, f"admin: {title}", passed, "" if passed else str(answer))

    try:
        if not report.check(client.name, "admin: connects", admin.ready, admin.program.last_words()):
            return
        topics(admin, f"made-by-{client.name}", check)
        members.start("m1")
        if not members.wait_together(1):
            report.check(client.name, "admin: a member to look at", False, members.state())
            return
        committed = {p: 50 + p for p in range(PARTITIONS)}
        for partition, offset in committed.items():
            members.commit("m1", partition, offset)
        while_it_has_a_member(admin, group, topic, committed, check, report, client)
        members.close("m1")
        wait_for(lambda: members.describe().state == "Empty", 10)
        once_it_is_empty(admin, group, topic, committed, check)
    finally:
        admin.close()
        members.kill_all()


def whole(offsets):
    return {int(p): o for p, o in offsets.items()}


def topics(admin, name, check):
    made = admin.ask("create", name, 7)
    if made["ok"]:
        made = admin.until(lambda found: found.get(name) == 7, "topics")
    check("create a topic", made, lambda found: found.get(name) == 7)
    gone = admin.ask("delete-topic", name)
    if gone["ok"]:
        gone = admin.until(lambda found: name not in found, "topics")
    check("delete a topic", gone, lambda found: name not in found)


def while_it_has_a_member(admin, group, topic, committed, check, report, client):
    check("list", admin.ask("list"), lambda found: group in found)
    shape = {"state": "Stable", "members": [list(range(PARTITIONS))]}
    check("describe a group with a member", admin.ask("describe", group), lambda found: found == shape)
    check("offsets", admin.ask("offsets", group, topic), lambda found: whole(found) == committed)
    refused = admin.ask("delete", group)
    passed = not refused["ok"] and "empty" in refused["error"].lower().replace("_", "")
    report.check(client.name, "admin: a group with members is not deleted", passed, "" if passed else str(refused))


def once_it_is_empty(admin, group, topic, committed, check):
    empty = {"state": "Empty", "members": []}
    check("describe an empty group", admin.ask("describe", group), lambda found: found == empty)
    done = admin.ask("set", group, topic, 2, 0)
    expected = {**committed, 2: 0}
    check("set an offset", done if not done["ok"] else admin.ask("offsets", group, topic),
          lambda found: whole(found) == expected)  # fmt: skip
    optional(admin, check, "reset to the earliest offset", ("reset", group, topic), group, topic, committed)
    current = admin.ask("offsets", group, topic).get("result") or {}
    without = {p: o for p, o in whole(current).items() if p != 3}
    optional(admin, check, "delete an offset", ("delete-offset", group, topic, 3), group, topic, without)
    gone = admin.ask("delete", group)
    check("delete an empty group", gone if not gone["ok"] else admin.ask("list"), lambda found: group not in found)


def optional(admin, check, title, words, group, topic, expected):
    """A check that not every client has the means for; a number it answers is what all offsets should be."""
    done = admin.ask(*words)
    if done.get("unsupported"):
        return
    if isinstance(done.get("result"), int):
        expected = dict.fromkeys(expected, done["result"])
    check(title, done if not done["ok"] else admin.ask("offsets", group, topic), lambda found: whole(found) == expected)


def consumer_groups_tool(client, server, topic, report, log):
    """kafka-consumer-groups as it comes with Kafka, over a group of Java members."""
    group = "tool"
    members = Members(client, server, group, topic, log)

    def tool(*words):
        command = [*CONSUMER_GROUPS_TOOL, "--bootstrap-server", server.bootstrap, "--timeout", "20000", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        log(f"tool {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def check(title, output, accept):
        passed = accept(output)
        report.check("consumer-groups", f"tool: {title}", passed, "" if passed else output.strip()[-600:])

    def rows(output):
        return [line.split() for line in output.splitlines() if line.startswith(group + " ")]

    def numbers(output):
        """Partition to committed offset, from the table of --describe."""
        return {int(row[2]): int(row[3]) for row in rows(output) if row[3].isdigit()}

    try:
        members.start("m1")
        if not members.wait_together(1):
            report.check("consumer-groups", "tool: a member to look at", False, members.state())
            return
        committed = {p: 70 + p for p in range(PARTITIONS)}
        for partition, offset in committed.items():
            members.commit("m1", partition, offset)
        check("--list", tool("--list"), lambda out: group in out.split())
        check("--describe", tool("--describe", "--group", group), lambda out: numbers(out) == committed)
        check("--describe --members --verbose", tool("--describe", "--group", group, "--members", "--verbose"),
              lambda out: len(rows(out)) == 1 and "0,1,2,3,4,5" in out)  # fmt: skip
        check("--describe --state", tool("--describe", "--group", group, "--state"), lambda out: "Stable" in out)
        reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
        check("--reset-offsets is refused while a member lives", tool(*reset),
              lambda out: "inactive" in out and "Stable" in out)  # fmt: skip
        check("--delete is refused while a member lives", tool("--delete", "--group", group),
              lambda out: "not empty" in out.lower() or "NonEmpty" in out)  # fmt: skip
        members.close("m1")
        wait_for(lambda: members.describe().state == "Empty", 10)
        check("--reset-offsets", tool(*reset),
              lambda out: server.observer.offsets(group, topic, PARTITIONS) == dict.fromkeys(committed, 0))  # fmt: skip
        check("--delete-offsets", tool("--delete-offsets", "--group", group, "--topic", f"{topic}:1"),
              lambda out: server.observer.offsets(group, topic, PARTITIONS)[1] == -1)  # fmt: skip
        check("--delete", tool("--delete", "--group", group) + tool("--list"),
              lambda out: "successful" in out and group not in out.splitlines())  # fmt: skip
    finally:
        members.kill_all()
