"""Runs stock Kafka clients against the server: one line for each check, and 'N passed, N failed'."""

import argparse
import os
import shutil
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import administration
import scenarios
import simulated
import transactions
from clients import CLIENTS, missing
from report import Report
from server import Groupd, Kafka, scratch

TOPIC = "orders"
STORIES = {
    "life": scenarios.life_of_a_group,
    "static": scenarios.static_members,
    "server": scenarios.server_killed,
    "admin": administration.admin_client,
    "tool": administration.consumer_groups_tool,
    "transactions": transactions.offsets_in_transactions,
    "simulated": simulated.simulated_time,
}


def main():
    options = arguments()
    directory = Path(options.keep or scratch())
    report = Report()
    chosen = []
    for client in CLIENTS:
        if options.clients and client.name not in options.clients:
            continue
        if lack := missing(client):
            print(f"\n!!!! LEFT OUT: {client.name}, because this machine has no {lack}\n", flush=True)
            if os.environ.get("CI") == "true":
                report.check(client.name, "is there to be tested", False, f"CI has no {lack}")
        else:
            chosen.append(client)
    began = time.monotonic()
    # The longest first: with so few at a time the last one to start sets the length of the run.
    chosen.sort(key=lambda c: ("java" not in c.name, c.language != "node"))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda c: run(c, options, directory, report), chosen))
    finish(report, directory, options, time.monotonic() - began)


def arguments():
    parser = argparse.ArgumentParser(prog="driver", description=__doc__)
    parser.add_argument("clients", nargs="*", help=f"of: {', '.join(c.name for c in CLIENTS)} (all)")
    parser.add_argument("--server", choices=("groupd", "kafka"), default="groupd")
    parser.add_argument("--jobs", type=int, default=3, help="clients at a time (3)")
    parser.add_argument("--only", action="append", choices=STORIES, help="this story alone (repeatable)")
    parser.add_argument("--keep", help="a directory for the logs and the server's data, kept")
    options = parser.parse_args()
    if unknown := set(options.clients) - {c.name for c in CLIENTS}:
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    return options


def run(client, options, directory, report):
    """All stories of one client, with a server of its own: they do not disturb each other's timing."""
    place = directory / client.name
    # What an earlier run committed would be read by this one.
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    kind = Kafka if options.server == "kafka" else Groupd
    server = kind(place / "server", {TOPIC: 6})
    lock = threading.Lock()
    with open(place / "clients.log", "w") as file:

        def log(text):
            with lock:
                if not file.closed:
                    print(f"{time.strftime('%H:%M:%S')}.{int(time.time() * 1000) % 1000:03} {text}", file=file, flush=True)

        try:
            server.start()
            for name, story in STORIES.items():
                if options.only and name not in options.only:
                    continue
                if name == "admin" and client.admin is None or name == "tool" and client.name != "java":
                    continue
                if name == "transactions" and client.transactional is None:
                    continue
                told(story, name, client, server, report, log)
        except Exception as problem:
            report.check(client.name, "the server runs", False, str(problem))
        finally:
            server.kill()


def told(story, name, client, server, report, log):
    try:
        story(client, server, TOPIC, report, log)
    except Exception as problem:
        log(traceback.format_exc())
        report.check(client.name, f"the story '{name}' comes to its end", False, f"{type(problem).__name__}: {problem}")


def finish(report, directory, options, took):
    print(f"\n{report.table()}\n")
    failures = report.failures()
    for client, name, _, remark in failures:
        print(f"FAILED {client}: {name}: {remark}")
    if options.keep or failures:
        print(f"logs: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{len({row[0] for row in report.rows})} clients in {took:.0f} s")
    print(report.closing_line(), flush=True)
    sys.exit(1 if failures or not report.rows else 0)


if __name__ == "__main__":
    main()
