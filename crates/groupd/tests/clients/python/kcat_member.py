"""A member by kcat, in the words of the protocol: kcat itself says on standard error what it was assigned.

kcat commits only what it has consumed, so the driver commits for its group and this program tells where kcat
goes on reading: `offsets` answers the first offset that kcat reached in each partition.
"""

import re
import signal
import subprocess
import sys
import threading

from protocol import arguments, commands, is_fenced, say

REBALANCED = re.compile(r"rebalanced \(memberid ([^)]*)\): (assigned|revoked): ?(.*)")
PARTITION = re.compile(r"\[(\d+)\]")
END = re.compile(r"Reached end of topic \S+ \[(\d+)\] at offset (\d+)")

args = arguments()
lines = commands()
reached = {}

command = ["kcat", "-b", args.bootstrap, "-G", args.group, "-E", "-u", "-f", "%p %o\\n"]
settings = {
    "session.timeout.ms": args.session_ms,
    "heartbeat.interval.ms": args.heartbeat_ms,
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "reconnect.backoff.max.ms": 500,
}
if args.instance:
    settings["group.instance.id"] = args.instance
for name, value in settings.items():
    command += ["-X", f"{name}={value}"]
kcat = subprocess.Popen([*command, args.topic], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_messages():
    for line in kcat.stdout:
        partition, offset = map(int, line.split())
        reached.setdefault(partition, offset)


def read_remarks():
    for line in kcat.stderr:
        if found := REBALANCED.search(line):
            _member, what, where = found.groups()
            say(what, partitions=sorted(map(int, PARTITION.findall(where))))
        elif found := END.search(line):
            reached.setdefault(int(found[1]), int(found[2]))
        elif is_fenced(line):
            say("fenced", message=line.strip())
        elif line.strip():
            say("error", message=line.strip())


readers = [threading.Thread(target=target, daemon=True) for target in (read_messages, read_remarks)]
for reader in readers:
    reader.start()


def watch():
    kcat.wait()
    for reader in readers:
        reader.join()
    lines.put(["gone"])


threading.Thread(target=watch, daemon=True).start()
closing = False
while True:
    match lines.get():
        case ["offsets"]:
            say("offsets", offsets=dict(reached))
        case ["close"] if not closing:
            closing = True
            kcat.send_signal(signal.SIGINT)
        case ["gone"]:
            say("closed" if closing else "error", message=f"kcat left with {kcat.returncode}")
            sys.exit(0 if closing else 1)
