"""Counts the checks and prints one line for each, as soon as it is known."""

import threading


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = []

    def check(self, client, name, passed, remark=""):
        with self.lock:
            self.rows.append((client, name, bool(passed), remark))
            print(f"{'ok  ' if passed else 'FAIL'} {client:16} {name}{': ' + remark if remark else ''}", flush=True)
        return bool(passed)

    def left_out(self, client, name, why):
        with self.lock:
            self.rows.append((client, name, None, why))
            print(f"--   {client:16} {name}: {why}", flush=True)

    def failures(self):
        return [row for row in self.rows if row[2] is False]

    def table(self):
        """Clients down, checks across: `+` passed, `F` failed, `-` does not apply."""
        names = list(dict.fromkeys(row[1] for row in self.rows))
        clients = list(dict.fromkeys(row[0] for row in self.rows))
        marks = {(c, n): {True: "+", False: "F", None: "-"}[p] for c, n, p, _ in self.rows}
        lines = [f"{chr(ord('a') + i) if i < 26 else chr(ord('A') + i - 26)} = {name}" for i, name in enumerate(names)]
        head = "".join(f"{chr(ord('a') + i) if i < 26 else chr(ord('A') + i - 26):>3}" for i in range(len(names)))
        lines.append(f"{'':16}{head}")
        for client in clients:
            lines.append(f"{client:16}" + "".join(f"{marks.get((client, n), ''):>3}" for n in names))
        return "\n".join(lines)

    def closing_line(self):
        passed = sum(row[2] is True for row in self.rows)
        return f"{passed} passed, {len(self.failures())} failed"
