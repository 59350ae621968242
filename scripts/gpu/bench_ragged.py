#!/usr/bin/env python3
"""Times a decode step's attention over sequences of which one is much longer than the others, with the
heads of Qwen3-8B: ir-examples/attention_by_length.etir under several schedules, beside the library's
attention, which splits all sequences alike (attention_of_fixed_splits.etir), and beside the time to read
the cache.

All in one run on one card, each way in a CUDA graph, by turns. A graph holds launches on several copies
of the caches, so that no launch finds them in the L2 cache. Every way is held to a reference in float32.
"""

import argparse
import json
import math
from pathlib import Path

import torch

import command
import decode_model
import etcrt
from baseline_decode import rms_norm
from timing import captured, interleaved_ms, streaming_bytes_per_second

BY_LENGTH = decode_model.EXAMPLES / "attention_by_length.etir"
FIXED = Path(__file__).resolve().parent / "attention_of_fixed_splits.etir"
HEADS, KV_HEADS, DIM, EPS = 32, 8, 128, 1e-6
SIZES = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": DIM,
         "max_position_embeddings": 40960}
PAGE = decode_model.PAGE_SIZE
ALLOWED_ERROR = 1e-2  # of a sequence: outputs, weights and queries are rounded to bf16


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_ragged", help="folder for artifacts")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--long", type=int, default=32768, help="cached positions of the long sequence")
    parser.add_argument("--others", type=int, default=100, help="cached positions of the others")
    parser.add_argument("--place", type=int, default=0, help="of the long sequence in the batch")
    parser.add_argument("--schedules", type=command.words, default=["static", "drain", "dynamic", "kernels"])
    parser.add_argument("--waves", type=command.integers, default=[2], help="tasks for each SM, about")
    parser.add_argument("--copies", type=int, default=2, help="of the caches")
    return parser.parse_args()


def random(*shape, mean=0.0, deviation=1.0):
    return torch.empty(shape, dtype=torch.bfloat16, device="cuda").normal_(mean, deviation)


def random_step(options):
    """What a step binds, without caches. Each place of the page table has a page of its own."""
    pos = torch.full((options.batch,), options.others, dtype=torch.int32, device="cuda")
    pos[options.place] = options.long
    pages, num_pages = decode_model.shuffled_pages(options.batch, int(pos.max()) + 1, 0, "cuda")
    exponents = torch.arange(0, DIM, 2, dtype=torch.float64) / DIM
    return num_pages, {
        "qkv": random(options.batch, (HEADS + 2 * KV_HEADS) * DIM),
        "q_norm": random(DIM, mean=1.0, deviation=0.1),
        "k_norm": random(DIM, mean=1.0, deviation=0.1),
        "inv_freq": (1e6**-exponents).float().cuda(),
        "pos": pos,
        "page_table": pages,
    }


def random_caches(num_pages):
    return {name: random(num_pages, KV_HEADS, PAGE, DIM) for name in ("k_cache", "v_cache")}


def rotate(x, angles):
    low, high = x.chunk(2, -1)
    return torch.cat([low * angles.cos() - high * angles.sin(),
                      high * angles.cos() + low * angles.sin()], -1)


def reference(step, caches):
    """In float32: the keys and values before the new position as they were, which no launch changes."""
    heads = step["qkv"].float().view(len(step["pos"]), -1, DIM)
    q, k, v = heads.split([HEADS, KV_HEADS, KV_HEADS], 1)
    angles = step["pos"][:, None, None] * step["inv_freq"]
    q = rotate(rms_norm(q, step["q_norm"].float(), EPS), angles)
    k = rotate(rms_norm(k, step["k_norm"].float(), EPS), angles)
    out = torch.empty_like(q)
    for b, position in enumerate(step["pos"].tolist()):
        pages = step["page_table"][b, : position // PAGE + 1].long()
        old = (caches[name][pages].transpose(0, 1).flatten(1, 2)[:, :position].float()
               for name in ("k_cache", "v_cache"))
        keys, values = (torch.cat([x, new[b, :, None]], 1) for x, new in zip(old, (k, v)))
        grouped = q[b].view(KV_HEADS, -1, DIM)
        weights = torch.softmax(grouped @ keys.transpose(1, 2) / math.sqrt(DIM), -1)
        out[b] = (weights @ values).view(HEADS, DIM)
    return out.flatten(1)


class Way:
    """One program over one copy of the caches."""

    def __init__(self, program, step, caches, num_pages):
        self.runtime = etcrt.Runtime(program)
        sizes = {"batch": len(step["pos"]), "max_pages": step["page_table"].shape[1],
                 "num_pages": num_pages}
        for name, size in sizes.items():
            self.runtime.set_dim(name, size)
        self.out = torch.full((sizes["batch"], HEADS * DIM), float("nan"), dtype=torch.bfloat16,
                              device="cuda")
        self.runtime.bind(out=self.out, **step, **caches)
        self.runtime.reserve()

    def run(self):
        self.runtime.launch()


def largest_error(actual, expected):
    """Of any sequence, relative to what it should be: values of a long one are small."""
    return ((actual.float() - expected).norm(dim=1) / expected.norm(dim=1)).max().item()


def programs(options):
    """The ways to be timed, by name, and the artifact of each."""
    def compiled(source, name, *words):
        defines = [word for item in SIZES.items() for word in ("-D", "{}={}".format(*item))]
        artifact = Path(options.out) / f"{name}.etca"
        command.compile_program(options.etc, source, artifact, *defines, *words)
        return etcrt.Program(str(artifact))

    ways = {f"fixed_{schedule}": compiled(FIXED, f"fixed_{schedule}", "--schedule", schedule)
            for schedule in ("static", "kernels")}
    for waves in options.waves:
        for schedule in options.schedules:
            name = schedule if len(options.waves) == 1 else f"{schedule}_{waves}"
            ways[name] = compiled(BY_LENGTH, name, "--schedule", schedule, "-D", f"waves={waves}")
    return ways


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    bandwidth = streaming_bytes_per_second()
    num_pages, step = random_step(options)
    caches = [random_caches(num_pages) for _ in range(options.copies)]
    expected = [reference(step, each) for each in caches]
    ways = {name: [Way(program, step, each, num_pages) for each in caches]
            for name, program in programs(options).items()}
    steps = {name: captured(lambda copies=copies: [copy.run() for copy in copies] and None)
             for name, copies in ways.items()}
    spreads = interleaved_ms(steps)
    floor = 4 * KV_HEADS * DIM * int(step["pos"].sum()) / bandwidth * 1e6
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, all in CUDA graphs")
    print(f"{options.batch} sequences, {options.others} cached positions each, but {options.long} of one; "
          f"{HEADS} heads of {DIM}, {KV_HEADS} KV heads")
    print(f"streaming reads: {bandwidth / 1e12:.2f} TB/s; floor {floor:.1f} us to read the cache")
    print("way                 us  least  most  of floor  error")
    rows, failed = {}, False
    for name, copies in ways.items():
        times = [1e3 * ms / options.copies for ms in spreads[name]]
        error = max(largest_error(copy.out, right) for copy, right in zip(copies, expected))
        wrong = not error <= ALLOWED_ERROR
        failed = failed or wrong
        rows[name] = {"us": times, "error": error}
        print(f"{name:15} {times[0]:6.1f} {times[1]:6.1f} {times[2]:6.1f} {floor / times[0]:8.0%}  {error:.1e}"
              f"{'  FAILED' if wrong else ''}", flush=True)
    if options.json:
        report = {"streaming_bytes_per_second": bandwidth, "floor_us": floor, "rows": rows}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
