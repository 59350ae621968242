#!/usr/bin/env python3
"""What keeps ranks from going on together: each case must end in an error that says so, within a time,
and ranks must work behind it.

    check_faults.py [--devices 0,1] [--watchdog SECONDS] [--limit SECONDS]

$ETC is the compiler and $ETCRT names libetcrt. Needs the CUDA driver. Without --devices the two ranks
share device 0, and with two GPUs they also have one each.
"""

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

import command
import etcrt
from ranks import Group, all_reduce, device_count

ROOT = Path(__file__).resolve().parents[2]
SIZE = ("n", 777)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--devices", type=command.integers, help="of the two ranks")
    parser.add_argument("--watchdog", type=int, default=2, help="seconds")
    parser.add_argument("--limit", type=float, default=30, help="seconds for one error")
    parser.add_argument("--compiler", default="", help="words for etc, such as `--compiler nvcc`")
    return parser.parse_args()


class Wrong(Exception):
    """What a case did instead."""


class Case:
    """Two ranks in this process, and what they are expected to say."""

    def __init__(self, artifact, devices, limit):
        self.limit = limit
        self.group = Group(etcrt.Program(str(artifact)), SIZE, devices, all_reduce(2, SIZE[1]), 1)
        self.expected = []
        for number in range(2):
            self.group.launch(number, 0)
            self.group.synchronize()
            self.expected.append(self.group.result(0))
        self.group.bind(0, 0)

    def fails(self, call, status, pattern):
        begin = time.monotonic()
        try:
            call()
        except etcrt.Error as error:
            took = time.monotonic() - begin
            if error.status != status or not re.search(pattern, str(error)):
                raise Wrong(f"{error.status!r}, not {status!r} with `{pattern}`: {error}") from error
            if took > self.limit:
                raise Wrong(f"the error came after {took:.0f} s: {error}") from error
            return
        raise Wrong(f"no error: it should be `{pattern}`")

    def times_out(self, call, pattern):
        self.fails(call, etcrt.Status.TIMEOUT, pattern)

    def works(self):
        for number in (1, 0, 1, 0):
            self.group.launch(number, 0)
            self.group.synchronize()
            if self.group.result(0) != self.expected[number]:
                raise Wrong("a launch behind the error is wrong")


def hung_rank(case):
    """Rank 1 never launches."""
    case.group.ranks[0].launch()
    case.times_out(case.group.synchronize,
                   r"^rank 0: kernel @\S+: @send, before its tasks on SM \d+, waits for rank 1, which "
                   r"has not begun launch 3, and nothing has happened for \d+ s$")
    for rank in (0, 1):
        case.fails(case.group.ranks[rank].launch, etcrt.Status.GROUP,
                   f"rank {rank} cannot go on by itself behind a launch that failed: reserve the group")
    case.works()


def late_rank(case):
    """Rank 1 launches when rank 0 has given up: it must not take what rank 0 then computed."""
    case.group.ranks[0].launch()
    case.group.ranks[0].wait()
    case.group.ranks[1].launch()
    case.times_out(case.group.synchronize, r"^rank 0: .* waits for rank 1, which has not begun launch 3")
    case.times_out(case.group.ranks[1].check,
                   r"@reduce, .* waits for %arrived\[\d+\], of which [01] of 2 notifies came")
    case.group.reserve()
    case.works()


def launches_behind(case):
    """What comes behind a failure that nobody has asked for does nothing, and peers say so."""
    case.group.ranks[0].launch()
    case.group.ranks[0].wait()
    case.group.again()
    case.group.again()
    case.times_out(case.group.ranks[1].check,
                   r"@reduce, .* waits for %arrived|waits for rank 0, which has not begun launch 4")
    case.times_out(case.group.synchronize, r"^rank 0: .* waits for rank 1, which has not begun launch 3")
    case.works()


def larger_sizes(case):
    """Memory that grows must not take a failure along that nobody has asked for."""
    case.group.ranks[1].launch()
    for rank in case.group.ranks:
        rank.set_dim("n", 4096)
    case.times_out(case.group.reserve, r"^rank 1: .* waits for rank 0, which has not begun launch 3")
    for rank in case.group.ranks:
        rank.set_dim("n", SIZE[1])
    case.works()


IN_ONE_PROCESS = [hung_rank, late_rank, launches_behind, larger_sizes]


def check(name, run):
    try:
        run()
    except Wrong as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    print(f"ok     {name}", flush=True)
    return True


def main():
    options = parse_arguments()
    places = [options.devices] if options.devices else [[0, 0]]
    if not options.devices and device_count() > 1:
        places.append([0, 1])
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        artifact = command.compile_program(
            os.environ["ETC"], ROOT / "ir-examples/all_reduce.etir", Path(folder) / "watched.etca", "-D",
            "tp=2", "--watchdog", options.watchdog, *options.compiler.split())
        for devices in places:
            for case in IN_ONE_PROCESS:
                passed.append(check(f"{case.__name__} on {devices[0]},{devices[1]}",
                                    lambda c=case, d=devices: c(Case(artifact, d, options.limit))))
    print(f"{passed.count(False)} of {len(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    command.run(main)
