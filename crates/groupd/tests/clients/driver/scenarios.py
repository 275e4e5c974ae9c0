"""What every client must see: three stories, each of one group."""

import threading
import time

from members import HEARTBEAT, PARTITIONS, SESSION, SLACK, Members
from wire import FENCED_INSTANCE_ID, wait_for


def life_of_a_group(client, server, topic, report, log):
    """Members come, commit, are killed and leave; what they committed is there for the next."""
    group = f"{client.name}-life"
    members = Members(client, server, group, topic, log)
    check = lambda name, passed, remark="": report.check(client.name, name, passed, remark)  # noqa: E731
    try:
        began = time.monotonic()
        for name in ("m1", "m2", "m3"):
            members.start(name)
        formed = members.wait_together(3)
        took = time.monotonic() - began
        if not check("three members divide six partitions", formed, f"{took:.1f} s" if formed else members.state()):
            return
        committed = {p: 100 + p for p in range(PARTITIONS)}
        if client.commits:
            commits_come_back(members, committed, check)
        killed_member(members, check)
        members.start("m4")
        if not check("a new member gets its share", members.wait_together(3), failing(members, 3)):
            return
        closing_member(members, check)
        members.close_all()
        if not client.commits:
            server.observer.commit(group, topic, committed)
        read_by_a_fresh_process(members, committed, check)
    finally:
        members.kill_all()


def failing(members, count):
    return "" if members.together(count) else members.state()


def commits_come_back(members, committed, check):
    accepted = all(
        members.commit(name, partition, committed[partition])
        for name, program in members.living().items()
        for partition in program.assignment()[0]
    )
    found = [members.offsets(name) for name in members.living()]
    stored = members.server.observer.offsets(members.group, members.topic, PARTITIONS)
    passed = accepted and stored == committed and all(f == committed for f in found)
    check("commits come back", passed, "" if passed else f"accepted {accepted}, read {found}, stored {stored}")


def killed_member(members, check):
    """kill -9: the server may notice only by the session's end, the others only by a heartbeat."""
    before = members.describe().ids()
    victim = members.programs["m1"]
    lost = victim.assignment()[0]
    killed = time.monotonic()
    victim.kill()
    gone = wait_for(lambda: len(members.describe().members) <= 2 and members.describe().ids() != before, 30)
    noticed = time.monotonic() - killed
    limit = SESSION + HEARTBEAT
    check(
        "a killed member is out within its session and a heartbeat",
        gone and noticed <= limit,
        f"{noticed:.1f} s of {limit:.0f}" if gone else members.state(),
    )
    moved = members.wait_together(2, 30)
    took = time.monotonic() - killed
    limit += SLACK
    check(
        "its partitions are owned again",
        moved and took <= limit,
        f"{lost} after {took:.1f} s of {limit:.0f}" if moved else members.state(),
    )


def closing_member(members, check):
    began = time.monotonic()
    members.programs["m2"].command("close")
    gone = wait_for(lambda: len(members.describe().members) <= 2, 20, every=0.02)
    left = time.monotonic() - began
    moved = members.wait_together(2, 20)
    took = time.monotonic() - began
    passed = gone and moved and left <= SESSION / 3 and took <= HEARTBEAT + SLACK
    remark = f"left after {left:.1f} s, partitions owned after {took:.1f} s"
    check("a closing member leaves at once", passed, remark if passed else f"{remark}; {members.state()}")


def read_by_a_fresh_process(members, committed, check):
    members.start("m5")
    members.wait_together(1)
    # A client that tells where it reads needs a moment to get there.
    found = wait_for(lambda: (o := members.offsets("m5")) == committed and o, 10, every=0.3)
    passed = found == committed
    remark = "" if passed else f"read {members.offsets('m5')}; {members.state()}"
    check("a fresh process reads the commits", passed, remark)
    took = members.close("m5")
    empty = wait_for(lambda: members.describe().state == "Empty", 5)
    remark = "" if took is not None and empty else members.state()
    check("the last one out leaves an empty group", took is not None and empty, remark)


def static_members(client, server, topic, report, log):
    """Two members with instance ids restart, by a close and by a kill, and one meets its twin."""
    if client.no_static:
        report.left_out(client.name, "static members", client.no_static)
        return
    group = f"{client.name}-static"
    # A session that outlives a JVM's start on a busy machine: here it is not the session that is tested.
    members = Members(client, server, group, topic, log, session=20)
    check = lambda name, passed, remark="": report.check(client.name, name, passed, remark)  # noqa: E731
    try:
        members.start("left", "i-left")
        members.start("right", "i-right")
        formed = members.wait_together(2)
        if not check("two static members form a group", formed, "" if formed else members.state()):
            return
        if client.static_leaves:
            report.left_out(client.name, "a static member is closed and started again", client.static_leaves)
        else:
            stop = lambda: members.close("left")  # noqa: E731
            restart(members, "left", stop, "a static member is closed and started again", report)
        stop = members.programs["right"].kill
        restart(members, "right", stop, "a static member is killed and started again", report)
        twin(members, client, report)
    finally:
        members.kill_all()


def restart(members, name, stop, title, report):
    """Passes if nobody was asked to rebalance: same generation, same shares, no word at the other member."""
    observer, log = members.server.observer, members.server.log_mark()
    before, generation = members.describe(), observer.generation(members.group)
    shares = {m.instance: m.partitions for m in before.members}
    others = {n: p.mark() for n, p in members.programs.items() if n != name}
    stop()
    members.start(name, f"i-{name}")
    formed = members.wait_together(2)
    # Had there been a rebalance, the next heartbeats would tell.
    time.sleep(2 * HEARTBEAT)
    after, now = members.describe(), observer.generation(members.group)
    heard = [e.kind for n, mark in others.items() for e in members.programs[n].since(mark, "assigned", "revoked")]
    same = {m.instance: m.partitions for m in after.members} == shares
    passed = formed and same and generation == now and not heard and before.ids() != after.ids()
    remark = f"generation {generation} -> {now}"
    if not passed:
        remark += f", the other heard {heard}, before {before}, after {members.state()}"
    undisturbed(members, title, passed, remark, log, report)


def undisturbed(members, title, passed, remark, log, report):
    """A check that there was no rebalance; one that the client itself asked for is told apart."""
    client, server = members.client, members.server
    if not passed and client.rejoins and server.leader_rejoined(members.group, log):
        report.left_out(client.name, title, client.rejoins)
    else:
        report.check(client.name, title, passed, remark)


def twin(members, client, report):
    """A second process with a living member's instance id takes its place; the first is fenced."""
    title = "a twin of a static member fences it"
    observer, log = members.server.observer, members.server.log_mark()
    generation = observer.generation(members.group)
    first = members.programs.pop("left")
    old = next(m for m in members.describe().members if m.instance == "i-left")
    share = first.assignment()[0]
    members.start("left", "i-left")
    new = wait_for(lambda: next((m for m in members.describe().members if m.instance == "i-left" and m.id != old.id), None), 40)
    told = observer.heartbeat(members.group, generation, old)
    refused = told == FENCED_INSTANCE_ID
    if client.no_fenced:
        first.kill()
        report.check(client.name, "the old member id is refused", new and refused, f"error {told}")
        report.left_out(client.name, title, client.no_fenced)
        return
    fenced = wait_for(first.fenced, SESSION + SLACK)
    owns = members.wait_together(2, 20)
    same = owns and members.programs["left"].assignment()[0] == share
    now = observer.generation(members.group)
    passed = new and refused and fenced and same and generation == now
    remark = f"generation {generation} -> {now}"
    if not passed:
        remark += f", refused {told}, said fenced {bool(fenced)}, same share {same}; first: {first.last_words()}; {members.state()}"
    undisturbed(members, title, passed, remark, log, report)
    first.kill()


class Committer(threading.Thread):
    """Commits ever higher offsets of one member's partitions; remembers what was tried and what was acknowledged."""

    def __init__(self, members, name):
        super().__init__(daemon=True)
        self.members, self.member = members, name
        self.partitions = members.programs[name].assignment()[0]
        self.tried = {p: 0 for p in self.partitions}
        self.acknowledged = {p: 0 for p in self.partitions}
        self.count = 0
        self.stopping = threading.Event()
        # Clear while the server is down: what it had stored is looked at before anybody goes on.
        self.going, self.resumed = threading.Event(), threading.Event()
        self.going.set()
        self.restarted = False

    def run(self):
        offset = 0
        while not self.stopping.is_set():
            offset += 1
            for partition in self.partitions:
                self.going.wait()
                restarted = self.restarted
                self.tried[partition] = offset
                if self.members.commit(self.member, partition, offset):
                    self.acknowledged[partition] = offset
                    self.count += 1
                    if restarted:
                        self.resumed.set()
                else:
                    self.stopping.wait(0.1)
                if not self.members.programs[self.member].running():
                    return


def server_killed(client, server, topic, report, log):
    """The server dies in the middle of commits and comes back: nobody has to notice."""
    group = f"{client.name}-server"
    members = Members(client, server, group, topic, log, server.restart_session)
    check = lambda name, passed, remark="": report.check(client.name, name, passed, remark)  # noqa: E731
    committers = []
    try:
        for name in ("m1", "m2", "m3"):
            members.start(name)
        if not check("a group forms before the server is killed", members.wait_together(3), failing(members, 3)):
            return
        before, generation = members.describe(), server.observer.generation(group)
        marks = {name: p.mark() for name, p in members.programs.items()}
        log_mark = server.log_mark()
        if client.commits:
            committers = [Committer(members, name) for name in members.programs]
        else:
            server.observer.commit(f"{group}-offsets", topic, {p: 100 + p for p in range(PARTITIONS)})
        for committer in committers:
            committer.start()
        time.sleep(2)
        server.kill()
        down = time.monotonic()
        acknowledged = {p: o for c in committers for p, o in c.acknowledged.items()}
        for committer in committers:
            committer.going.clear()
        server.start()
        down = time.monotonic() - down
        commits_kept(members, committers, acknowledged, down, check)
        for committer in committers:
            committer.restarted = True
            committer.going.set()
        resumed = all(c.resumed.wait(30) for c in committers)
        # A member that the server has forgotten, or that has forgotten the server, would be out by now.
        time.sleep(server.restart_session + HEARTBEAT)
        for committer in committers:
            committer.stopping.set()
        for committer in committers:
            committer.join(30)
        if client.commits:
            check("commits go on after the restart", resumed, "" if resumed else members.state())
        no_rebalance(members, before, generation, marks, log_mark, report)
    finally:
        for committer in committers:
            committer.stopping.set()
            committer.going.set()
        members.kill_all()


def commits_kept(members, committers, acknowledged, down, check):
    """What was acknowledged before the kill is there, and nothing that nobody asked for."""
    observer = members.server.observer
    title = "no acknowledged commit is lost by a kill -9 of the server"
    if not members.client.commits:
        stored = observer.offsets_once_loaded(f"{members.group}-offsets", members.topic, PARTITIONS)
        check(title, stored == {p: 100 + p for p in range(PARTITIONS)}, f"{stored}, committed by the driver")
        return
    stored = observer.offsets_once_loaded(members.group, members.topic, PARTITIONS)
    tried = {p: o for c in committers for p, o in c.tried.items()}
    kept = all(acknowledged[p] <= stored[p] <= tried[p] for p in acknowledged)
    remark = f"{sum(c.count for c in committers)} acknowledged, down {down:.2f} s"
    if not kept:
        remark += f"; acknowledged {acknowledged}, stored {stored}"
    check(title, kept, remark)


def no_rebalance(members, before, generation, marks, log, report):
    after, now = members.describe(), members.server.observer.generation(members.group)
    heard = {
        name: [e.kind for e in members.programs[name].since(mark, "assigned", "revoked", "ended")]
        for name, mark in marks.items()
    }
    heard = {name: kinds for name, kinds in heard.items() if kinds}
    passed = generation == now and before.assignments() == after.assignments() and not heard
    title = "the server's restart makes no rebalance"
    remark = f"generation {generation} -> {now}"
    if not passed:
        remark += f", heard {heard}; before {before.assignments()}, after {members.state()}"
    undisturbed(members, title, passed, remark, log, report)
