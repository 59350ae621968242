#!/usr/bin/env python3
"""Programs with a mesh on this machine's GPUs: the ranks share device 0, and with several GPUs they
have one each.

Each program runs once with `etc run --check`, where every launch is compared with the program of all
ranks. Then its ranks are launched many times, many launches at once, by turns with several inputs:
what they write must be equal in every bit to a launch by itself. Then launches on end are timed.

With several GPUs the same is done with a process for each rank.

    check_ranks.py [--launches N] [--ranks N,N..] [--programs NAME,NAME..] [--processes no|own|shared]

$ETC is the compiler and $ETCRT names libetcrt. Needs the CUDA driver.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import command
import etcrt
from rank_process import Ranks, Wrong, free_address, value_of
from ranks import CASES, INPUTS, Group, device_count

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 64  # launches


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--launches", type=int, default=10000)
    parser.add_argument("--ranks", type=command.integers, default=[2, 4])
    parser.add_argument("--programs", type=lambda text: text.split(","), help="these alone")
    parser.add_argument("--timed", type=int, default=2000, help="launches on end")
    parser.add_argument("--processes", choices=["no", "own", "shared"], default="own",
                        help="a process for each rank: never, with a device of its own, or also with "
                             "all on device 0, by turns")
    parser.add_argument("--limit", type=int, default=240, help="seconds for one run of etc")
    parser.add_argument("--compiler", default="",
                        help="words for etc, such as `--compiler nvcc` or `--schedule dynamic`")
    return parser.parse_args()


def count_wrong(group, launches):
    """Of many launches, those that are not equal to one by itself."""
    expected = []
    for number in range(INPUTS):
        group.launch(number, 0)
        group.synchronize()
        expected.append(group.result(0))
        if any(each != expected[-1][0] for each in expected[-1]):
            return launches  # all ranks have the same result
    if len({each[0] for each in expected}) != INPUTS:
        return launches
    wrong = 0
    for begin in range(0, launches, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, launches))
        for number in numbers:
            group.launch(number, number - begin)
        group.synchronize()
        wrong += sum(group.result(number - begin) != expected[number % INPUTS] for number in numbers)
    return wrong


def microseconds(group, launches):
    for _ in range(min(launches, 100)):
        group.again()
    group.synchronize()
    begin = time.perf_counter()
    for _ in range(launches):
        group.again()
    group.synchronize()
    return (time.perf_counter() - begin) / launches * 1e6


def count_wrong_of_processes(ranks, launches):
    """The same of ranks with a process each."""
    def launch(first, count):
        ranks.do("launch", number=first, times=count)
        ranks.do("synchronize")
        return list(zip(*ranks.do("results", count=count)))

    expected = [launch(number, 1)[0] for number in range(INPUTS)]
    if len({each[0] for each in expected}) != INPUTS or any(len(set(each)) != 1 for each in expected):
        return launches
    wrong = 0
    for begin in range(0, launches, AT_ONCE):
        results = launch(begin, min(AT_ONCE, launches - begin))
        wrong += sum(result != expected[(begin + i) % INPUTS] for i, result in enumerate(results))
    return wrong


def has_processes(where, devices):
    return where == "shared" or (where == "own" and len(set(devices)) > 1)


def check_processes(case, devices, options, folder):
    """Whether the program is right with a process for each rank; prints a line."""
    name, dim, size, _ = case
    count = len(devices)
    artifact = command.compile_program(
        os.environ["ETC"], ROOT / f"ir-examples/{name}.etir", folder / f"{name}.{count}.etca", "-D",
        f"tp={count}", *options.compiler.split())
    title = f"{name} {dim}={size} on {','.join(map(str, devices))}, a process for each"
    address = free_address()
    try:
        with Ranks(count) as ranks:
            for rank, process in enumerate(ranks.all):
                process.ask("join", artifact=str(artifact), program=name, dim=dim, size=size,
                            results=AT_ONCE, device=devices[rank], rank=rank, ranks=count,
                            address=address)
            for answer in ranks.answers():
                value_of(answer)
            wrong = count_wrong_of_processes(ranks, options.launches)
            took = max(ranks.do("timed", launches=options.timed))
    except Wrong as error:
        print(f"FAILED {title}: {error}", flush=True)
        return False
    print(f"{'FAILED' if wrong else 'ok    '} {title}: {wrong} of {options.launches} launches wrong, "
          f"{took:.2f} us for a launch", flush=True)
    return wrong == 0


def check(case, devices, options, folder):
    """Whether the program is right on these devices; prints a line."""
    name, dim, size, params = case
    ranks = len(devices)
    source = ROOT / f"ir-examples/{name}.etir"
    etc = os.environ["ETC"]
    listed = ",".join(map(str, devices))
    title = f"{name} {dim}={size} on {listed}"
    words = [etc, "run", source, "-D", f"tp={ranks}", "--dim", f"{dim}={size}", "--device", "gpu",
             "--devices", listed, "--check", "--repeat", "20", *options.compiler.split()]
    try:
        run = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                             text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        print(f"FAILED {title}: `etc run` has not ended after {options.limit} s")
        return False
    if run.returncode != 0:
        print(f"FAILED {title}: {run.stdout}{run.stderr}")
        return False
    artifact = command.compile_program(etc, source, folder / f"{name}.{ranks}.etca", "-D",
                                       f"tp={ranks}", *options.compiler.split())
    group = Group(etcrt.Program(str(artifact)), (dim, size), devices, params(ranks, size),
                  AT_ONCE)
    wrong = count_wrong(group, options.launches)
    print(f"{'FAILED' if wrong else 'ok    '} {title}: {wrong} of {options.launches} launches wrong, "
          f"{microseconds(group, options.timed):.2f} us for a launch", flush=True)
    return wrong == 0


def main():
    options = parse_arguments()
    cases = [case for case in CASES if not options.programs or case[0] in options.programs]
    available = device_count()
    places = [[0] * ranks for ranks in options.ranks]
    places += [list(range(ranks)) for ranks in options.ranks if 1 < ranks <= available]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        passed = [check(case, devices, options, folder) for devices in places for case in cases]
        passed += [check_processes(case, devices, options, folder) for devices in places for case in cases
                   if len(devices) > 1 and has_processes(options.processes, devices)]
    print(f"{passed.count(False)} of {len(passed)} failed, with {available} devices")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    command.run(main)
