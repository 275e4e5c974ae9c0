"""What a test of an application does with a server for tests: time by command, faults by command.

The server's clock stands still. Clients keep their own: what they are to notice they notice at their next heartbeat.
"""

import json
import time
import urllib.parse
import urllib.request

from members import PARTITIONS, Members
from server import Groupd
from wire import wait_for

SESSION, HEARTBEAT_MS = 45, 300


class Simulated(Groupd):
    """A groupd whose clock is moved over HTTP."""

    def command(self):
        command = super().command()
        command[command.index("--http") + 1] = f"127.0.0.1:{self.port + 1}"
        return [*command, "--simulated-clock", "--store", "memory"]

    def call(self, method, path, **parameters):
        url = f"http://127.0.0.1:{self.port + 1}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=30) as answer:
            return json.load(answer)

    def advance(self, by, **parameters):
        return self.call("POST", "/clock/advance", by=by, **parameters)

    def fault(self, kind, **parameters):
        return self.call("POST", "/faults", kind=kind, **parameters)

    def connected(self):
        return self.call("GET", "/clock")["members_connected"]

    def struck(self):
        """Whether all faults that were set have been used up."""
        return not self.call("GET", "/faults")["faults"]


def simulated_time(client, server, topic, report, log):
    if not isinstance(server, Groupd):
        return
    check = lambda name, passed, remark="": report.check(client.name, f"simulated: {name}", passed, remark)  # noqa: E731
    own = Simulated(server.directory.parent / "simulated", {topic: PARTITIONS})
    members = Members(client, own, f"{client.name}-simulated", topic, log, SESSION, HEARTBEAT_MS)
    fenced = Members(client, own, f"{client.name}-fenced", topic, log, SESSION, HEARTBEAT_MS)
    try:
        own.start()
        members.start("m1")
        members.start("m2")
        # The first join waits for others for half a second, which passes when it is told to.
        formed = wait_for(lambda: own.advance("1s") and members.together(2), 45, every=0.3)
        if not check("two members form a group", formed, "" if formed else members.state()):
            return
        session_ends(members, own, check)
        coordinator_moves(members, own, check)
        if client.commits:
            answer_is_lost(members, own, check)
        if client.no_static or client.no_fenced:
            report.left_out(client.name, "simulated: a static member is fenced", client.no_static or client.no_fenced)
        else:
            static_member_is_fenced(fenced, own, check)
    finally:
        members.kill_all()
        fenced.kill_all()
        own.kill()


def session_ends(members, server, check):
    """A killed member is out after 45 s, which take as long as the command; the other gets its partitions by its next heartbeat."""
    members.programs["m1"].kill()
    noticed = wait_for(lambda: len(server.connected()) == 1, 10)
    # Its last heartbeat was some moves of the clock ago.
    early = server.advance("40s")
    began = time.monotonic()
    told = server.advance("5s")
    took = time.monotonic() - began
    left = len(members.describe().members)
    passed = noticed and early["members_evicted"] == 0 and told["members_evicted"] == 1 and left == 1
    remark = f"{took * 1000:.0f} ms" if passed else f"{noticed}, {early}, {told}, {left} left"
    check("a session of 45 s ends by command", passed and told["rebalances_started"] == 1, remark)
    moved = members.wait_together(1, 20)
    took = time.monotonic() - began
    check("and the other owns all after its next heartbeat", moved, f"{took:.1f} s" if moved else members.state())


def answer_is_lost(members, server, check):
    """The commit is durable, whatever the client has made of it; and it goes on."""
    server.fault("lose-answer", api="OffsetCommit", group=members.group)
    program = members.programs["m2"]
    program.command("commit", 3, 777)
    stored = wait_for(lambda: server.observer.offsets(members.group, members.topic, PARTITIONS)[3] == 777, 10)
    struck = server.struck()
    check("a commit whose answer is lost is durable", stored and struck, "" if stored else members.state())
    began = time.monotonic()
    # A client that gives its member up in its own time comes back as another: the first must be able to expire.
    goes_on = wait_for(lambda: server.advance("1s") and next_commit(program), 120, every=0.5)
    stored = server.observer.offsets(members.group, members.topic, PARTITIONS)[3]
    remark = f"{time.monotonic() - began:.1f} s" if goes_on else members.state()
    check("and the next one is answered", goes_on and stored == 778, remark)


def next_commit(program):
    """Orders one commit at a time until one is acknowledged."""
    told = [e for e in program.since(0, "committed", "commit_failed") if e.fields["offset"] == 778]
    ordered = getattr(program, "ordered", 0)
    if told and told[-1].kind == "committed":
        return True
    if ordered == len(told):
        program.ordered = ordered + 1
        program.command("commit", 3, 778)
    return False


def coordinator_moves(members, server, check):
    """The client finds it again, in the same generation."""
    before = members.describe().ids()
    fault = server.fault("move", group=members.group)
    away = members.describe().state
    # Until the client's heartbeat has met with it.
    time.sleep(3 * HEARTBEAT_MS / 1000)
    server.call("DELETE", "/faults", id=fault["id"])
    back = wait_for(lambda: members.together(1) and members.describe().ids() == before, 20)
    passed = away == "error 16" and back
    check("a coordinator moves and comes back", passed, "" if passed else f"{away}; {members.state()}")


def static_member_is_fenced(members, server, check):
    members.start("only", "i-only")
    formed = wait_for(lambda: server.advance("1s") and members.together(1), 45, every=0.3)
    server.fault("fail", api="Heartbeat", error="FENCED_INSTANCE_ID", group=members.group)
    fenced = wait_for(members.programs["only"].fenced, 20)
    check("a static member is fenced", formed and fenced, "" if fenced else members.state())
