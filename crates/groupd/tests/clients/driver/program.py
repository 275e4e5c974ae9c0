"""One running client program: its events with the time they were read, and its commands."""

import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass


@dataclass
class Event:
    at: float
    kind: str
    fields: dict


class Program:
    """Starts in a process group of its own, so that a kill reaches whatever it started."""

    def __init__(self, name, command, environment=None, log=None):
        self.name = name
        self.events = []
        self.changed = threading.Condition()
        self.log = log
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        self.started = time.monotonic()
        for target in (self._read_events, self._read_remarks):
            threading.Thread(target=target, daemon=True).start()

    def _read_events(self):
        for line in self.process.stdout:
            try:
                fields = json.loads(line)
                kind = fields.pop("event")
            except (ValueError, AttributeError, KeyError):
                kind, fields = "remark", {"message": line.strip()}
            self._add(kind, fields)
        self._add("ended", {"status": self.process.wait()})

    def _read_remarks(self):
        for line in self.process.stderr:
            self._note("stderr", line.rstrip())

    def _add(self, kind, fields):
        with self.changed:
            self.events.append(Event(time.monotonic(), kind, fields))
            self.changed.notify_all()
        self._note(kind, json.dumps(fields))

    def _note(self, kind, text):
        if self.log is not None:
            self.log(f"{self.name} {kind} {text}")

    def command(self, *words):
        self._note("<-", " ".join(map(str, words)))
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it has ended: whoever waits for the answer will see that

    def mark(self):
        """A place in the events, to look only at what comes after it."""
        with self.changed:
            return len(self.events)

    def since(self, mark, *kinds):
        with self.changed:
            return [e for e in self.events[mark:] if e.kind in kinds]

    def wait(self, mark, kinds, timeout, accept=lambda event: True):
        """The first such event after `mark`; None if none comes in time or the program ends."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                for event in self.events[mark:]:
                    if event.kind in kinds and accept(event):
                        return event
                    if event.kind == "ended":
                        return None
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(left)

    def assignment(self):
        """The partitions it said it owns, and when it said so."""
        with self.changed:
            for event in reversed(self.events):
                if event.kind == "assigned":
                    return event.fields["partitions"], event.at
                if event.kind in ("revoked", "fenced", "ended"):
                    return [], event.at
        return [], self.started

    def fenced(self):
        return any(e.kind == "fenced" for e in list(self.events))

    def running(self):
        return self.process.poll() is None

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def last_words(self):
        """What it complained of, for the report of a failed check."""
        with self.changed:
            said = [e.fields for e in self.events if e.kind in ("error", "commit_failed", "fenced", "ended")]
        return " | ".join(str(next(iter(f.values()), ""))[:160] for f in said[-3:])
