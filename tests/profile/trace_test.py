#!/usr/bin/env python3
"""Runs a program with a profile, and checks what the trace says of it.

    trace_test.py ETC SOURCE [--tasks N] [--sms A,B] [--numbered CALL:N ...] [--stdout] [-- ARGUMENTS of `etc run`]

On every track one span follows the other. Each task of the program is there once, the same ones on any number of SMs;
with --tasks their number is known, and with --numbered the last coordinates of the tasks of a call are 0 .. N. No wait
for an element of an event ends before the last of its signals has begun, or, where the element is signalled by several
roles at once, before the first. The summary counts these waits as signals of their call, and nothing else; with
--stdout the trace is on standard output alone, and there is no summary. With --waits, each of these roles has waited
inside of a task, and none for longer than the task took.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

TICK = 0.017  # microseconds: times are rounded to a tick of the clock, and then to nanoseconds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("etc")
    parser.add_argument("source")
    parser.add_argument("--tasks", type=int, help="how many there must be")
    parser.add_argument("--sms", default="1,4")
    parser.add_argument("--roles", default="consumers", help="that must have spans: `consumers,loader`")
    parser.add_argument("--waits", default="", help="roles that must have waited for data: `loader`")
    parser.add_argument("--numbered", action="append", default=[], help="@part:23")
    parser.add_argument("--stdout", action="store_true", help="have the trace on standard output")
    words, more = sys.argv[1:], []
    if "--" in words:  # argparse itself takes what follows for positionals that are not there
        more = words[words.index("--") + 1 :]
        words = words[: words.index("--")]
    return parser.parse_args(words, argparse.Namespace(more=more))


def trace_of(options, sms, folder):
    """The spans and the names of the tracks of a run, its summary, and what went wrong with the run itself."""
    file = Path("-") if options.stdout else folder / "trace.json"
    command = [options.etc, "run", options.source, "--sms", sms, "--profile", str(file), *options.more]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    if run.returncode != 0:
        return [], {}, "", [f"`{' '.join(command)}` ended with {run.returncode}: {run.stderr}"]
    trace = json.loads(run.stdout if options.stdout else file.read_text())
    events = trace["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    wrong = [f"{trace['otherData']['lost']} spans are lost"] if trace["otherData"]["lost"] else []
    if not options.stdout and "idle" not in run.stdout:
        wrong.append("there is no summary")
    return spans, tracks, run.stdout, wrong


def wrong_sums(spans, tracks, summary):
    """Each call whose time in the summary is not that of the consumers' spans, or whose signals are not its waits."""
    time, waits, tasks = defaultdict(float), defaultdict(float), Counter()
    for span in spans:
        if tracks[span["tid"]].endswith("consumers"):
            call = span["args"]["call"]
            time[call] += span["dur"]
            waits[call] += span["dur"] if span["cat"] == "wait" else 0
            tasks[call] += span["cat"] == "task"
    for call, whole in time.items():
        row = re.search(rf"^{re.escape(call)} +(\d+) +([\d.]+) +[\d.]+% +[\d.]+% +([\d.]+)%$", summary, re.MULTILINE)
        rounding = 0.001 * sum(span["args"]["call"] == call for span in spans)
        part = 100 * waits[call] / whole if whole else 0
        if not row:
            yield f"the summary lacks {call}"
        elif int(row[1]) != tasks[call] or abs(float(row[2]) - whole) > rounding:
            yield f"the summary says {row[0]}, but {tasks[call]} tasks took {whole}"
        elif abs(float(row[3]) - part) > 0.1 + 100 * rounding / max(whole, rounding):
            yield f"the summary says {row[0]}, but the waits are {part} %"


def task_of(span):
    """A task by its coordinates and the line of its call: a device function may be called twice."""
    return f"{span['name']} of {span['args']['source']}"


def overlaps(spans):
    """Each span that begins before the one in front of it on its track has ended."""
    ends = {}
    for span in spans:
        before = ends.get(span["tid"])
        if before and span["ts"] + TICK < before["ts"] + before["dur"]:
            yield f"`{span['name']}` begins before `{before['name']}` has ended"
        if span["dur"] < 0:
            yield f"`{span['name']}` ends before it begins"
        ends[span["tid"]] = span


def early_waits(spans):
    """Each wait that ended before its element was signalled."""
    signals = defaultdict(list)
    for span in spans:
        if span["cat"] == "signal" and (signal := re.match(r"notify (%\w+\[[\d, ]*\])", span["name"])):
            signals[signal[1]].append(span)
    for span in spans:
        wait = re.match(r"wait (%\w+\[[\d, ]*\])", span["name"])
        if span["cat"] != "wait" or not wait or wait[1] not in signals:
            continue
        begun = max(signal["ts"] for signal in signals[wait[1]])
        if span["ts"] + span["dur"] + TICK < begun:
            yield f"`{span['name']}` ends at {span['ts'] + span['dur']}, but a signal begins at {begun}"


def waits_of_data(spans, tracks, roles):
    """Each role that never waited for data inside of a task, and each task that waited longer than it took."""
    waited = {tracks[span["tid"]] for span in spans if span["args"].get("waited for data (us)", 0) > 0}
    for role in roles:
        if not any(name.endswith(role) for name in waited):
            yield f"no {role} waited for data"
    for span in spans:
        if span["args"].get("waited for data (us)", 0) > span["dur"] + TICK:
            yield f"`{span['name']}` waited for longer than it took"


def misnumbered(spans, call, count):
    """What is wrong with the last coordinates of the tasks of a call."""
    names = [span["name"] for span in spans if span["cat"] == "task"]
    tasks = [re.match(re.escape(call) + r"\[([\d, ]+)\]", name) for name in names]
    last = sorted(int(task[1].split(",")[-1]) for task in tasks if task)
    if last != list(range(count)):
        yield f"the last coordinates of {call} are {last} instead of 0 .. {count - 1}"


def main():
    options = parse_arguments()
    wrong, seen = [], None
    with tempfile.TemporaryDirectory() as folder:
        for sms in options.sms.split(","):
            spans, tracks, summary, failed = trace_of(options, sms, Path(folder))
            tasks = Counter(task_of(span) for span in spans if span["cat"] == "task")
            wrong += failed
            lines = (*overlaps(spans), *early_waits(spans))
            lines += () if options.stdout else (*wrong_sums(spans, tracks, summary),)
            lines += (*waits_of_data(spans, tracks, options.waits.split(",") if options.waits else []),)
            wrong += [f"on {sms} SMs: {line}" for line in lines]
            wrong += [f"on {sms} SMs: `{name}` ran {n} times" for name, n in tasks.items() if n != 1]
            wrong += [
                f"on {sms} SMs: no track of {role}"
                for role in options.roles.split(",")
                if not any(name.endswith(role) for name in tracks.values())
            ]
            if options.tasks is not None and len(tasks) != options.tasks:
                wrong.append(f"on {sms} SMs: {len(tasks)} tasks instead of {options.tasks}")
            for call, count in (word.split(":") for word in options.numbered):
                wrong += [f"on {sms} SMs: {line}" for line in misnumbered(spans, call, int(count))]
            if seen is not None and set(tasks) != seen:
                wrong.append(f"on {sms} SMs other tasks ran: {sorted(set(tasks) ^ seen)[:5]}")
            seen = set(tasks)
    print("\n".join(wrong[:20]) or f"{len(seen)} tasks, each once")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
