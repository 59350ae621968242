#!/usr/bin/env python3
"""What keeps ranks from going on together: each case must end in an error that says so, within a time,
and ranks must work behind it. The two ranks are in this process, and then in one process each.

    check_faults.py [--devices 0,1] [--ranks N] [--watchdog SECONDS] [--limit SECONDS]
                    [--in process|processes] [--host]

$ETC is the compiler and $ETCRT names libetcrt. Needs the CUDA driver, but with --host, which has processes
on the host target. Without --devices the ranks share device 0, and with two GPUs they also have one each.
More than two ranks have a process each, and a GPU each.
"""

import argparse
import os
import re
import struct
import tempfile
import time
from pathlib import Path

import command
import etcrt
from rank_process import RankProcess, Ranks, Wrong, free_address
from ranks import Group, all_reduce, device_count, input_floats

ROOT = Path(__file__).resolve().parents[2]
SIZE = ("n", 777)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--devices", type=command.integers, help="of the two ranks")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--watchdog", type=int, default=2, help="seconds")
    parser.add_argument("--limit", type=float, default=30, help="seconds for one error")
    parser.add_argument("--in", dest="where", choices=["process", "processes"])
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--compiler", default="", help="words for etc, such as `--compiler nvcc`")
    return parser.parse_args()


def check_error(answer, status, pattern):
    """Of a rank's process."""
    if "error" not in answer:
        raise Wrong(f"no error: it should be `{pattern}`")
    if answer["status"] != status or not re.search(pattern, answer["error"]):
        raise Wrong(f"{etcrt.Status(answer['status'])!r}, not {status!r} with `{pattern}`: "
                    f"{answer['error']}")


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


class ProcessCase:
    """Ranks with a process each, and what they are expected to say."""

    def __init__(self, artifacts, devices, options):
        self.count = options.ranks
        self.artifact, self.other_artifact = artifacts
        self.devices, self.limit, self.watchdog = devices, options.limit, options.watchdog
        self.timeout = 3.0
        params = all_reduce(self.count, SIZE[1])
        self.expected = [
            struct.pack(f"{SIZE[1]}f", *map(sum, zip(*(input_floats("x", number, rank, params)
                                                       for rank in range(self.count))))).hex()
            for number in range(2)]

    def ask_to_join(self, processes, address=None, **others):
        address = address or free_address()
        for rank, process in enumerate(processes):
            # A process too many has the device of another.
            place = ({"host": True} if self.devices is None
                     else {"device": self.devices[rank % len(self.devices)]})
            words = {"artifact": str(self.artifact), "program": "all_reduce", "dim": SIZE[0],
                     "size": SIZE[1], "results": 1, "rank": rank, "ranks": self.count, "address": address,
                     "timeout": self.timeout, **place, **others.get(f"rank{rank}", {})}
            process.ask("join", **words)

    def joined(self):
        ranks = Ranks(self.count)
        self.ask_to_join(ranks.all)
        for answer in ranks.answers(self.limit):
            if "error" in answer:
                raise Wrong(f"ranks do not join: {answer['error']}")
        return ranks

    def works(self, ranks, waits=0.0):
        """`waits`: how long rank 0 is ahead of the others in the first call."""
        for number in (1, 0, 1, 0):
            ranks.all[0].ask("launch", number=number)
            time.sleep(waits)
            waits = 0.0
            for rank in ranks.all[1:]:
                rank.ask("launch", number=number)
            for answer in ranks.answers(self.limit):
                if "error" in answer:
                    raise Wrong(f"a launch fails: {answer['error']}")
            ranks.do("synchronize")
            if ranks.do("results") != [[self.expected[number]]] * self.count:
                raise Wrong("a launch is wrong")

    def all_say(self, ranks, status, pattern):
        begin = time.monotonic()
        for answer in ranks.answers(self.limit):
            check_error(answer, status, pattern)
        if time.monotonic() - begin > self.limit:
            raise Wrong(f"the errors took longer than {self.limit} s")

    def next_run_works(self):
        with self.joined() as ranks:
            self.works(ranks)


def processes_work(case):
    with case.joined() as ranks:
        case.works(ranks)
        ranks.do("resize", program="all_reduce", dim="n", size=4096)
        ranks.do("launch")
        ranks.do("resize", program="all_reduce", dim=SIZE[0], size=SIZE[1])
        case.works(ranks)


def rank_that_does_not_come(case):
    alone = RankProcess()
    case.ask_to_join([alone])
    check_error(alone.answer(case.limit), etcrt.Status.GROUP,
                r"^rank 1 has not come to 127.0.0.1:\d+ within 3 s$")
    alone.end()
    case.next_run_works()


def killed_rank(case):
    """Between launches."""
    with case.joined() as ranks:
        case.works(ranks)
        ranks.all[1].kill()
        for call in ("launch", "reserve", "synchronize"):
            for rank in [ranks.all[0], *ranks.all[2:]]:
                rank.ask(call)
                check_error(rank.answer(case.limit), etcrt.Status.GROUP, "^rank 1 is gone")
    case.next_run_works()


def killed_in_a_launch(case):
    with case.joined() as ranks:
        case.works(ranks)
        others = [ranks.all[0], *ranks.all[2:]]
        for rank in others:
            rank.ask("launch")
            rank.ask("synchronize")
        time.sleep(case.watchdog / 2)
        ranks.all[1].kill()
        for rank in others:
            launched, ended = rank.answer(case.limit), rank.answer(case.limit)
            if "error" in launched:  # on the host the launch has ended by then
                check_error(launched, etcrt.Status.GROUP, "^rank 1 is gone")
            check_error(ended, etcrt.Status.GROUP, "^rank 1 is gone")
    case.next_run_works()


def hung_process(case):
    """It never launches, and comes back."""
    with case.joined() as ranks:
        case.works(ranks)
        ranks.all[0].ask("launch")
        ranks.all[0].ask("synchronize")
        launched, ended = ranks.all[0].answer(case.limit), ranks.all[0].answer(case.limit)
        check_error(launched if "error" in launched else ended, etcrt.Status.TIMEOUT,
                    "^rank 0: .* waits for rank 1, which has not begun launch 5")
        case.works(ranks, waits=0.5)


def rank_that_does_not_reserve(case):
    with case.joined() as ranks:
        ranks.all[0].ask("reserve")
        said = r"^rank 1 has not come within 3 s to where rank 0 waits: to a reserve or a launch with other sizes$"
        check_error(ranks.all[0].answer(case.limit), etcrt.Status.GROUP, said)
        ranks.all[1].ask("reserve")
        check_error(ranks.all[1].answer(case.limit), etcrt.Status.GROUP, said)
    case.next_run_works()


def other_artifact(case):
    with Ranks(case.count) as ranks:
        case.ask_to_join(ranks.all, rank1={"artifact": str(case.other_artifact)})
        case.all_say(ranks, etcrt.Status.GROUP,
                      "^rank 1 has another artifact: its hash is [0-9a-f]{32}, but [0-9a-f]{32} on rank 0$")
    case.next_run_works()


def other_batch(case):
    with case.joined() as ranks:
        case.works(ranks)
        ranks.all[1].do("resize", program="all_reduce", dim="n", size=778)
        ranks.ask("reserve")  # a launch of rank 0 alone would exchange nothing
        case.all_say(ranks, etcrt.Status.DIM, "^rank 1: dim `n` is 778, but 777 on rank 0$")
        ranks.all[1].do("resize", program="all_reduce", dim="n", size=777)
        case.works(ranks)


def sizes_of_another_launch(case):
    """Rank 0 has other sizes one launch earlier than rank 1."""
    with case.joined() as ranks:
        case.works(ranks)
        ranks.all[0].do("resize", program="all_reduce", dim="n", size=778)
        ranks.all[0].ask("launch")
        time.sleep(0.5)
        ranks.all[1].ask("launch")
        case.all_say(ranks, etcrt.Status.DIM, "^rank 1: dim `n` is 777, but 778 on rank 0$")
        ranks.all[0].do("resize", program="all_reduce", dim="n", size=777)
        case.works(ranks)


def rank_without_tensors(case):
    """What keeps a rank from its launch keeps all from theirs, the first time."""
    with case.joined() as ranks:
        ranks.all[0].do("bind", number=0)
        ranks.ask("again")
        case.all_say(ranks, etcrt.Status.UNBOUND, "^rank 1: parameter `x` has no tensor$")
        case.works(ranks)


def too_little_memory(case):
    with case.joined() as ranks:
        if case.devices is None:
            ranks.all[1].do("limit_files", size=4096)
        elif case.devices[0] == case.devices[1]:
            return
        else:
            ranks.all[1].do("take_memory", left=1 << 20)
        ranks.ask("launch")
        case.all_say(ranks, etcrt.Status.OUT_OF_MEMORY, r"^rank 1: (cannot allocate \d+ bytes|.*CUDA_ERROR_OUT_OF_MEMORY)")
        if case.devices is not None:
            ranks.all[1].do("give_memory")
            case.works(ranks)
    case.next_run_works()


def two_of_one_rank(case):
    with Ranks(case.count + 1) as ranks:
        case.ask_to_join(ranks.all, rank1={"ranks": 4}, rank2={"rank": 1, "ranks": 4},
                         rank0={"ranks": 4})
        case.all_say(ranks, etcrt.Status.GROUP, "^two processes are rank 1$")
    case.next_run_works()


def other_number_of_ranks(case):
    with Ranks(case.count) as ranks:
        case.ask_to_join(ranks.all, rank1={"ranks": 4})
        case.all_say(ranks, etcrt.Status.GROUP, "^rank 1 is one of 4 ranks, but rank 0 one of 2$")
    case.next_run_works()


def rank_that_ends_first(case):
    with case.joined() as ranks:
        case.works(ranks)
        ranks.do("launch", number=1)
        ranks.all[1].do("synchronize")
        ranks.all[1].do("free")
        ranks.all[0].do("synchronize")
        if ranks.all[0].do("results") != [case.expected[1]]:
            raise Wrong("the last launch is wrong")
        ranks.all[0].ask("reserve")
        check_error(ranks.all[0].answer(case.limit), etcrt.Status.GROUP, "^rank 1 has left the group$")


IN_PROCESSES = [
    processes_work, rank_that_does_not_come, killed_rank, killed_in_a_launch, hung_process,
    rank_that_does_not_reserve, other_artifact, other_batch, sizes_of_another_launch,
    rank_without_tensors, too_little_memory, two_of_one_rank, other_number_of_ranks,
    rank_that_ends_first]
OF_MORE_RANKS = [processes_work, killed_rank, killed_in_a_launch, other_artifact, other_batch]


def check(name, run):
    try:
        run()
    except Wrong as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    print(f"ok     {name}", flush=True)
    return True


def compile_artifacts(options, folder):
    """With the watchdog that is asked for, and another one."""
    flags = ["--arch", "host"] if options.host else options.compiler.split()
    return [command.compile_program(
        os.environ["ETC"], ROOT / "ir-examples/all_reduce.etir", Path(folder) / f"watched{seconds}.etca",
        *([] if options.host else ["-D", f"tp={options.ranks}"]), "--watchdog", seconds, *flags)
        for seconds in (options.watchdog, options.watchdog + 1)]


def main():
    options = parse_arguments()
    in_processes = IN_PROCESSES if options.ranks == 2 else OF_MORE_RANKS
    if options.ranks != 2:
        options.where = "processes"
    if options.host:
        places, options.where = [None], "processes"
    elif options.ranks != 2:
        places = [list(range(options.ranks))]
    else:
        places = [options.devices] if options.devices else [[0, 0]]
        if not options.devices and device_count() > 1:
            places.append([0, 1])
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        artifacts = compile_artifacts(options, folder)
        for devices in places:
            on = "the host" if devices is None else ",".join(map(str, devices))
            for case in IN_ONE_PROCESS if options.where != "processes" else []:
                passed.append(check(f"{case.__name__} on {on}", lambda c=case, d=devices: c(
                    Case(artifacts[0], d, options.limit))))
            for case in in_processes if options.where != "process" else []:
                passed.append(check(f"{case.__name__} on {on}", lambda c=case, d=devices: c(
                    ProcessCase(artifacts, d, options))))
    print(f"{passed.count(False)} of {len(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    command.run(main)
