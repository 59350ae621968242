#!/usr/bin/env python3
"""Launches a queue to which data decide how many tasks are pushed (ir-examples/moe_routing.etir, dynamic)
with other tokens each time, and holds every bit of what it writes to that of the static kernel on the
same tokens.

All launches are in CUDA graphs that draw their tokens themselves. Of every ten launches nine have random
routings, and one sends all tokens to the same experts; with one expert for each token, to a single one.
How many experts were used, the least and the most, stands beside the result. Each stage says when it
begins. A group of 50 launches of each kernel that takes longer than --stall seconds counts as one that
hangs: the script says how many launches were done, and ends with 3. After --seconds, what is left of the
launches of a case is left out, and its line says how many were done. $ETCRT names libetcrt. Needs PyTorch.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import torch

import command
import etcrt
from timing import captured, interleaved_ms

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "ir-examples/moe_routing.etir"
HIDDEN, INTERMEDIATE, EXPERTS = 256, 128, 16
PREFERRED = 5  # the first expert that tokens go to where all go to the same ones
IN_GRAPH = 50


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/check_queues", help="folder for artifacts")
    parser.add_argument("--launches", type=int, default=100_000, help="of each program")
    parser.add_argument("--tokens", type=command.integers, default=[1, 17, 128])
    parser.add_argument("--seconds", type=float, default=100, help="for the launches of a case, at most")
    parser.add_argument("--stall", type=float, default=20, help="seconds for 50 launches of each kernel")
    return parser.parse_args()


BEGAN = time.monotonic()
HANGS = 3  # how the script ends then


def say(text):
    print(f"[{time.monotonic() - BEGAN:6.1f} s] {text}", flush=True)


def finish(seconds, what):
    """Waits for the work of the GPU so far, and ends the process where that takes longer."""
    done = torch.cuda.Event()
    done.record()
    until = time.monotonic() + seconds
    while not done.query():
        if time.monotonic() > until:
            say(f"HANGS  {what}: nothing for {seconds:.0f} s")
            os._exit(HANGS)  # a context whose kernel hangs cannot be torn down
        time.sleep(0.001)


def random(*shape):
    return torch.randn(*shape, device="cuda").bfloat16()


class Routed:
    """Both schedules of the program on the same tokens."""

    def __init__(self, programs, tokens, chosen):
        self.chosen = chosen
        self.tokens = random(tokens, HIDDEN)
        router = torch.randn(EXPERTS, HIDDEN, device="cuda") * HIDDEN**-0.5
        router[PREFERRED : PREFERRED + chosen] += 0.1
        self.router = router.bfloat16()
        weights = {
            "gate_proj": random(EXPERTS, INTERMEDIATE, HIDDEN) * HIDDEN**-0.5,
            "up_proj": random(EXPERTS, INTERMEDIATE, HIDDEN) * HIDDEN**-0.5,
            "down_proj": random(EXPERTS, HIDDEN, INTERMEDIATE) * INTERMEDIATE**-0.5,
        }
        self.runtimes, self.outs = {}, {}
        for schedule, program in programs.items():
            self.outs[schedule] = torch.zeros_like(self.tokens)
            self.runtimes[schedule] = etcrt.Runtime(program)
            self.runtimes[schedule].set_dim("tokens", tokens)
            self.runtimes[schedule].bind(x=self.tokens, router=self.router, out=self.outs[schedule], **weights)
            self.runtimes[schedule].reserve()
        self.wrong = torch.zeros((), dtype=torch.int64, device="cuda")
        self.least = torch.full((), EXPERTS, device="cuda")
        self.most = torch.zeros((), dtype=torch.int64, device="cuda")
        self.used = torch.zeros(EXPERTS, dtype=torch.int64, device="cuda")
        self.ones = torch.ones(tokens * chosen, dtype=torch.int64, device="cuda")

    def step(self, same):
        """Draws tokens, launches both kernels, and counts the launches that differ."""
        self.tokens.normal_(mean=1.0 if same else 0.0)
        for runtime in self.runtimes.values():
            runtime.launch()
        bits = [out.view(torch.int16) for out in self.outs.values()]
        self.wrong.add_((bits[0] != bits[1]).any())
        experts = (self.tokens.float() @ self.router.float().T).topk(self.chosen).indices
        used = self.used.zero_().scatter_(0, experts.flatten(), self.ones).sum()
        self.least.copy_(torch.minimum(self.least, used))
        self.most.copy_(torch.maximum(self.most, used))

    def steps(self):
        for index in range(IN_GRAPH):
            self.step(index % 10 == 9)

    def check(self, launches, seconds, stall):
        """How many launches differ, and of how many."""
        for schedule, runtime in self.runtimes.items():
            runtime.launch()
            finish(stall, f"the first launch, {schedule}")
        for launch in range(4):
            self.step(launch == 3)
            finish(stall, f"launch {launch + 2} of both")
        say("       a few launches are done; captures")
        replay = captured(self.steps)
        self.wrong.zero_()
        until = time.monotonic() + seconds
        next_word = time.monotonic() + 10
        done = 0
        while done < launches and time.monotonic() < until:
            replay()
            finish(stall, f"a group behind {done} launches")
            done += IN_GRAPH
            if time.monotonic() > next_word:
                say(f"       {done} launches")
                next_word += 10
        if not all(out.abs().sum() > 0 for out in self.outs.values()):
            raise RuntimeError("a kernel wrote nothing")
        return self.wrong.item(), done

    def times(self):
        runs = {
            schedule: captured(lambda runtime=runtime: [runtime.launch() for _ in range(IN_GRAPH)] and None)
            for schedule, runtime in self.runtimes.items()
        }
        return {name: 1000 * median / IN_GRAPH for name, (median, _, _) in interleaved_ms(runs).items()}


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    failed = 0
    for chosen in (4, 1):
        programs = {}
        for schedule in ("static", "dynamic"):
            artifact = Path(options.out) / f"moe-routing-{chosen}-{schedule}.etca"
            words = ["--schedule", schedule, "-D", f"num_experts_per_tok={chosen}"]
            say(f"compiles {artifact.name}")
            programs[schedule] = etcrt.Program(str(command.compile_program(options.etc, SOURCE, artifact, *words)))
        for tokens in options.tokens:
            say(f"{tokens} tokens, {chosen} of {EXPERTS} experts each")
            routed = Routed(programs, tokens, chosen)
            wrong, done = routed.check(options.launches, options.seconds, options.stall)
            failed += wrong > 0
            times = ", ".join(f"{name} {time:.1f} us" for name, time in routed.times().items())
            say(f"{'FAILED' if wrong else 'ok    '} {tokens:4} tokens, {chosen} of {EXPERTS} experts each, "
                f"{routed.least.item()} to {routed.most.item()} used: "
                f"{wrong} of {done} launches differ; {times}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    command.run(main)
