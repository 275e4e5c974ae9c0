"""How a client program talks with the driver: JSON lines out, words on a line in.

A member starts with `--bootstrap --group --topic --session-ms --heartbeat-ms [--instance]` and says

    {"event": "assigned", "partitions": [0, 1]}     its whole assignment, after each rebalance
    {"event": "revoked"}                             it gave its partitions up
    {"event": "committed", "partition": 0, "offset": 7}   the client called the commit a success
    {"event": "commit_failed", "partition": 0, "offset": 7, "error": "..."}
    {"event": "offsets", "offsets": {"0": 7}}        what the group has committed, -1 for nothing
    {"event": "fenced"}                              another member took its instance id
    {"event": "error", "message": "..."}             anything else worth a line
    {"event": "closed"}

and understands `commit PARTITION OFFSET`, `offsets` and `close` on its standard input.
An admin program answers each command with {"event": "reply", "ok": true, "result": ...}. So does a transactional
producer, which starts with `--transactional-id --timeout-ms` and understands `init`, `begin`, `send PARTITION OFFSET`,
`commit` and `abort`; `join` makes the consumer whose offsets it sends a member of the group.
"""

import argparse
import json
import logging
import os
import queue
import sys
import threading

PRINTING = threading.Lock()


def say(event, **fields):
    with PRINTING:
        print(json.dumps({"event": event, **fields}), flush=True)


def error(problem):
    """An exception of whatever kind: a fenced member is told apart by the name all clients give it."""
    text = f"{type(problem).__name__}: {problem}"
    say("fenced" if is_fenced(text) else "error", message=text)


def is_fenced(text):
    text = text.lower()
    return "fenced" in text and "instance" in text or "static consumer fenced" in text


class Complaints(logging.Handler):
    """Tells the errors that a client only logs."""

    def emit(self, record):
        text = record.getMessage()
        say("fenced" if is_fenced(text) else "error", message=text)


def tell_logged_errors(name):
    logger = logging.getLogger(name)
    logger.addHandler(Complaints(logging.ERROR))
    logger.propagate = False


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--group", default="")
    parser.add_argument("--topic", default="")
    parser.add_argument("--session-ms", type=int, default=6000)
    parser.add_argument("--heartbeat-ms", type=int, default=1000)
    parser.add_argument("--instance")
    parser.add_argument("--transactional-id", default="")
    parser.add_argument("--timeout-ms", type=int, default=60_000)
    parser.add_argument("--admin", action="store_true")
    return parser.parse_args()


def commands():
    """The lines of standard input as a queue of word lists; the end of input is a `close`."""
    lines = queue.Queue()

    def read():
        for line in sys.stdin:
            if line.split():
                lines.put(line.split())
        lines.put(["close"])

    threading.Thread(target=read, daemon=True).start()
    return lines


def next_command(lines):
    try:
        return lines.get_nowait()
    except queue.Empty:
        return None


def serve_admin(operations):
    """Answers each command with the result, or the error, of the operation of that name."""
    say("ready")
    for line in sys.stdin:
        words = line.split()
        if words[0] == "close":
            break
        try:
            say("reply", ok=True, result=operations[words[0]](*words[1:]))
        except KeyError as problem:
            say("reply", ok=False, unsupported=words[0] not in operations, error=repr(problem))
        except Exception as problem:  # whatever the client throws is the answer
            say("reply", ok=False, error=f"{type(problem).__name__}: {problem}")
    say("closed")
    # Some clients keep threads that a plain exit would wait for.
    os._exit(0)
