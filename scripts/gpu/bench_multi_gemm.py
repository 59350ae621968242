#!/usr/bin/env python3
"""Holds matrix products fused with communication (ir-examples/gemm_rs.etir, ag_gemm.etir) to products in
float32 on several GPUs, and times them by turns beside cuBLAS alone, NCCL's collective alone, and both
one after the other. All in one process.

    bench_multi_gemm.py [--shapes NAME,..] [--tokens N,..] [--ranks N] [--schedules WORD,..]
                        [--compile-only] [--artifacts FOLDER]

$ETC is the compiler and $ETCRT names libetcrt. Of several schedules, the results of all must have the
bits of the first one's. `--compile-only` compiles two artifacts for each shape and schedule, and needs no
GPU.
"""

import argparse
import ctypes
import itertools
import os
import statistics
import time
import traceback
from pathlib import Path

import command
from bench_gemm import EXAMPLES, MODELS

ALLOWED_ERROR = {"gemm_rs": 5e-3, "ag_gemm": 3e-3}  # in the norm; parts are rounded to bf16
CHECKED_EVERY = 13  # of the rows, so that all places in a tile are met


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shapes", type=command.words, default=list(MODELS))
    parser.add_argument("--programs", type=command.words, default=["gemm_rs", "ag_gemm"])
    parser.add_argument("--tokens", type=command.integers, default=[512, 8192])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--schedules", type=command.words, default=["static"])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--milliseconds", type=float, default=60.0, help="of a turn")
    parser.add_argument("--alike", type=int, default=20, help="launches that must be alike")
    parser.add_argument("--seconds", type=float, default=150, help="after which no new case begins")
    parser.add_argument("--artifacts", default="build/bench_multi_gemm",
                        help="folder of PROGRAM.SHAPE.RANKS.etca, or PROGRAM.SHAPE.RANKS.SCHEDULE.etca")
    parser.add_argument("--compile-only", action="store_true")
    return parser.parse_args()


def artifact(program, shape, schedule, options):
    """Compiled beforehand, or now."""
    way = "" if schedule == "static" else f".{schedule}"
    path = Path(options.artifacts) / f"{program}.{shape}.{options.ranks}{way}.etca"
    if not path.exists():
        hidden, inner = MODELS[shape]
        columns, depth = (hidden, inner) if program == "gemm_rs" else (inner, hidden)
        defined = {"N": columns, "K": depth, "tp": options.ranks}
        words = [word for name, value in defined.items() for word in ("-D", f"{name}={value}")]
        command.compile_program(os.environ["ETC"], EXAMPLES / f"{program}.etir", path, "--schedule",
                                schedule, *words)
    return path


class Group:
    """The ranks of a program, each on the device of its number."""

    def __init__(self, path, ranks, rows):
        import etcrt
        from etcrt._library import call, library

        self.call, self.library = call, library
        self.program = etcrt.Program(path)
        self.handle = ctypes.c_void_p()
        call("etc_group_create", self.program.handle, None, ctypes.c_int32(ranks),
             ctypes.byref(self.handle))
        self.ranks = []
        for number in range(ranks):
            handle = ctypes.c_void_p()
            call("etc_group_instance", self.handle, ctypes.c_int32(number), ctypes.byref(handle))
            rank = etcrt.Runtime.__new__(etcrt.Runtime)
            rank.program, rank._params, rank._bound = self.program, self.program.params(), {}
            rank._handle = type("Borrowed", (), {"pointer": handle})
            rank.set_dim("m", rows)
            self.ranks.append(rank)

    def launch(self):
        self.call("etc_group_launch", self.handle, None)

    def synchronize(self):
        self.call("etc_group_synchronize", self.handle, None)

    def free(self):
        self.library().etc_group_free(self.handle)


class Case:
    """Operands of all ranks, and the ways to multiply them."""

    def __init__(self, program, shape, tokens, options):
        import torch
        import torch.cuda.nccl as nccl

        self.torch, self.nccl, self.program, self.options = torch, nccl, program, options
        hidden, inner = MODELS[shape]
        self.ranks, self.devices = options.ranks, [torch.device("cuda", n) for n in range(options.ranks)]
        self.rows, inner = tokens // self.ranks, inner // self.ranks
        scatters = program == "gemm_rs"
        x_shape = (tokens, inner) if scatters else (self.rows, hidden)
        w_shape = (hidden, inner) if scatters else (inner, hidden)
        y_shape = (self.rows, hidden) if scatters else (tokens, inner)

        def random(shape, device):
            return torch.randn(shape, device=device, dtype=torch.bfloat16)

        self.x = [random(x_shape, device) for device in self.devices]
        self.w = [random(w_shape, device) * 0.02 for device in self.devices]
        self.y = [torch.empty(y_shape, device=device, dtype=torch.bfloat16) for device in self.devices]
        # Of the library: what is multiplied or made in between.
        self.between = [torch.empty((tokens, hidden), device=device, dtype=torch.bfloat16)
                        for device in self.devices]
        self.made = [torch.empty_like(y) for y in self.y]
        self.groups = {}  # by schedule
        for schedule in options.schedules:
            group = Group(artifact(program, shape, schedule, options), self.ranks, self.rows)
            self.groups[schedule] = group
            for number, rank in enumerate(group.ranks):
                with torch.cuda.device(number):
                    rank.bind(x=self.x[number], w=self.w[number], y=self.y[number])
        self.synchronize()

    def free(self):
        for group in self.groups.values():
            group.free()

    def synchronize(self):
        for device in self.devices:
            self.torch.cuda.synchronize(device)

    def multiply(self):
        for number in range(self.ranks):
            if self.program == "gemm_rs":
                self.torch.mm(self.x[number], self.w[number].t(), out=self.between[number])
            else:
                self.torch.mm(self.between[number], self.w[number].t(), out=self.made[number])

    def communicate(self):
        if self.program == "gemm_rs":
            self.nccl.reduce_scatter(self.between, self.made)
        else:
            self.nccl.all_gather(self.x, self.between)

    def one_after_the_other(self):
        steps = (self.multiply, self.communicate)
        for step in steps if self.program == "gemm_rs" else reversed(steps):
            step()

    def expected(self, number, rows):
        """Those rows of a rank's output, in float32 on its device."""
        device = self.devices[number]
        if self.program == "gemm_rs":
            mine = rows + number * self.rows
            return sum((x[mine.to(x.device)].float() @ w.float().t()).to(device)
                       for x, w in zip(self.x, self.w))
        x = self.torch.cat([x.to(device) for x in self.x])
        return x[rows].float() @ self.w[number].float().t()

    def poison(self):
        for y in self.y:
            y.fill_(float("nan"))
        self.synchronize()

    def launch(self, group):
        self.poison()
        group.launch()
        group.synchronize()

    def check(self):
        """The largest relative error of a rank's rows."""
        torch = self.torch
        groups = list(self.groups.values())
        self.launch(groups[0])
        error = 0.0
        for number, y in enumerate(self.y):
            if not bool(torch.isfinite(y).all()):
                raise RuntimeError(f"rank {number}: {int((~torch.isfinite(y)).sum())} outputs are missing")
            rows = torch.arange(0, y.shape[0], CHECKED_EVERY, device=y.device)
            wanted = self.expected(number, rows)
            error = max(error, float((y[rows].float() - wanted).norm() / wanted.norm()))
        first = [y.clone() for y in self.y]
        for schedule, group in self.groups.items():
            for _ in range(self.options.alike):
                self.launch(group)
                if not all(torch.equal(y, one) for y, one in zip(self.y, first)):
                    raise RuntimeError(f"a launch of `{schedule}` differs from the first one")
        if error > ALLOWED_ERROR[self.program]:
            raise RuntimeError(f"the error is {error:.2e}")
        return error

    def times(self):
        """Milliseconds of each way: medians of turns of launches on end."""
        self.one_after_the_other()  # the tensor cores need less power for what is no random number
        ways = {schedule: (group.launch, group.synchronize) for schedule, group in self.groups.items()}
        for name, run in (("GEMM", self.multiply), ("collective", self.communicate),
                          ("both", self.one_after_the_other)):
            ways[name] = (run, self.synchronize)

        def turn(run, synchronize, count):
            synchronize()
            begin = time.perf_counter()
            for _ in range(count):
                run()
            synchronize()
            return (time.perf_counter() - begin) / count * 1e3

        counts = {}
        for name, way in ways.items():
            turn(*way, 3)
            counts[name] = max(3, min(1000, round(self.options.milliseconds / turn(*way, 3))))
        turns = {name: [] for name in ways}
        for _ in range(self.options.rounds):
            for name, way in ways.items():
                # The clock follows the power of what ran before: so much of the same ran before.
                turn(*way, counts[name])
                turns[name].append(turn(*way, counts[name]))
        return {name: statistics.median(all) for name, all in turns.items()}


def main():
    options = parse_arguments()
    cases = list(itertools.product(options.shapes, options.programs))
    for (shape, program), schedule in itertools.product(cases, options.schedules):
        artifact(program, shape, schedule, options)
    if options.compile_only:
        return 0
    import torch

    torch.manual_seed(3)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}; milliseconds", flush=True)
    begin, failed, left_out = time.monotonic(), 0, 0
    for (shape, program), tokens in itertools.product(cases, options.tokens):
        if time.monotonic() - begin > options.seconds:
            left_out += 1
            continue
        case = None
        try:
            case = Case(program, shape, tokens, options)
            error, times = case.check(), case.times()
            limit = max(times["GEMM"], times["collective"])
            ours = ", ".join(f"{schedule} {times[schedule]:.3f}" for schedule in case.groups)
            first = times[options.schedules[0]]
            print(f"{shape:15s} {program:8s} {tokens:5d} tokens: {ours}, GEMM "
                  f"{times['GEMM']:.3f}, collective {times['collective']:.3f}, both {times['both']:.3f}; "
                  f"{options.schedules[0]} is {first / limit:.3f} of the longer, "
                  f"{first / times['both']:.3f} of both; error {error:.1e}", flush=True)
        except Exception:  # one case's failure must not hide the others' results
            print(f"FAILED  {shape} {program} {tokens} tokens", flush=True)
            traceback.print_exc()
            failed += 1
        finally:
            if case is not None:
                case.free()
            del case
            torch.cuda.empty_cache()
    print(f"{failed} of {len(cases) * len(options.tokens)} cases failed, {left_out} were left out")
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
