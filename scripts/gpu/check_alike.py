#!/usr/bin/env python3
"""Launches the decode step of a model that GPUs share many times, and compares each result with the first,
bit by bit, on the GPUs.

The weights are uploaded once, and the host looks at nothing in between: outputs are overwritten in front
of each launch, and each rank counts on its own GPU how many launches differ. So ten thousand launches
of a few layers take some ten seconds for each batch.

    check_alike.py [--model NAME] [--layers N] [--batches N,..] [--ranks N] [--launches N] [--whole-experts]

$ETC is the compiler and $ETCRT names libetcrt.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch

import bench_multi
import command
import decode_model
import etcrt
from ranks_decoder import RanksDecoder

AT_ONCE = 64  # launches between two looks at failures


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", default="Qwen3-8B")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batches", type=command.integers, default=[1, 8, 32])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--launches", type=int, default=10000)
    parser.add_argument("--whole-experts", action="store_true", help="of a mixture, on each rank")
    return parser.parse_args()


def program_of(options, folder):
    config = decode_model.read_config(options.model)
    words = ["--config", decode_model.config_file(options.model), "-D", f"tp={options.ranks}", "-D",
             f"num_hidden_layers={options.layers}"]
    words += ["-D", "expert_parallel=true"] if options.whole_experts else []
    source = decode_model.PROGRAMS[config["model_type"]]
    return etcrt.Program(command.compile_program(os.environ["ETC"], source, folder / "model.etca", *words))


def bits(tensor):
    """To compare not-a-numbers, too."""
    return tensor.view({2: torch.int16, 4: torch.int32}[tensor.element_size()])


class RankWatch:
    """A rank's outputs, and how many launches left others than the first."""

    def __init__(self, mine):
        self.device = mine["logits"].device
        self.outputs = [mine["logits"], mine["token"]]
        self.caches = [mine["k_cache"], mine["v_cache"]]
        self.first = [output.clone() for output in self.outputs]
        self.first_caches = [cache.clone() for cache in self.caches]
        self.different = torch.zeros((), dtype=torch.int64, device=self.device)

    def poison(self):
        logits, token = self.outputs
        logits.fill_(float("nan"))
        token.fill_(-1)

    def count(self):
        wrong = [(bits(now) != bits(then)).any() for now, then in zip(self.outputs, self.first)]
        self.different += torch.stack(wrong).any()

    def total(self):
        same = all(torch.equal(bits(now), bits(then))
                   for now, then in zip(self.caches, self.first_caches))
        return int(self.different) + (0 if same else 1)


def check(program, weights, config, batch, options):
    """How many launches differ on each rank, and the seconds that all took."""
    torch.manual_seed(batch)
    state = decode_model.random_state(config, batch, options.context, "cuda:0")
    ids = torch.randint(0, config["vocab_size"], (batch,), dtype=torch.int32, device="cuda:0")
    decoder = RanksDecoder(program, weights, *state)
    logits, token = decoder.step(ids, torch.full_like(ids, options.context))[:2]
    if not torch.isfinite(logits).all() or (token < 0).any():
        raise RuntimeError("logits are not finite, or ranks have different tokens")
    watches = [RankWatch(mine) for mine in decoder.parts]
    for watch in watches:
        torch.cuda.synchronize(watch.device)
    begin = time.perf_counter()
    for first in range(0, options.launches, AT_ONCE):
        for _ in range(min(AT_ONCE, options.launches - first)):
            for watch in watches:
                with torch.cuda.device(watch.device):
                    watch.poison()
            decoder.start()  # behind and in front of the default stream of each GPU
            for watch in watches:
                with torch.cuda.device(watch.device):
                    watch.count()
        decoder.synchronize()
    different = [watch.total() for watch in watches]
    took = time.perf_counter() - begin
    decoder.free()
    return different, took


def main():
    options = parse_arguments()
    config = decode_model.read_config(options.model, options.layers)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = program_of(options, Path(folder))
        weights = bench_multi.packed_weights(program, config, options.ranks)
        for batch in options.batches:
            different, took = check(program, weights, config, batch, options)
            failed |= any(different)
            print(f"{'FAILED' if any(different) else 'ok    '} {options.model}, {options.layers} layers, "
                  f"batch {batch}: {different} of {options.launches} launches differ on "
                  f"{options.ranks} ranks, {took:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
