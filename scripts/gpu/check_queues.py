#!/usr/bin/env python3
"""Launches a queue to which data decide how many tasks are pushed (ir-examples/moe_routing.etir, dynamic)
with other tokens each time, and holds every bit of what it writes to that of the static kernel on the
same tokens.

All launches are in CUDA graphs that draw their tokens themselves. Of every ten launches nine have random
routings, and one sends all tokens to the same experts; with one expert for each token, to a single one.
How many experts were used, the least and the most, stands beside the result. $ETCRT names libetcrt.
Needs PyTorch.
"""

import argparse
import sys
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
    return parser.parse_args()


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

    def check(self, launches):
        replay = captured(self.steps)
        self.wrong.zero_()
        for _ in range(-(-launches // IN_GRAPH)):
            replay()
        torch.cuda.synchronize()
        if not all(out.abs().sum() > 0 for out in self.outs.values()):
            raise RuntimeError("a kernel wrote nothing")
        return self.wrong.item()

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
            programs[schedule] = etcrt.Program(str(command.compile_program(options.etc, SOURCE, artifact, *words)))
        for tokens in options.tokens:
            routed = Routed(programs, tokens, chosen)
            wrong = routed.check(options.launches)
            failed += wrong > 0
            times = ", ".join(f"{name} {time:.1f} us" for name, time in routed.times().items())
            print(f"{'FAILED' if wrong else 'ok    '} {tokens:4} tokens, {chosen} of {EXPERTS} experts each, "
                  f"{routed.least.item()} to {routed.most.item()} used: "
                  f"{wrong} of {options.launches} launches differ; {times}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    command.run(main)
