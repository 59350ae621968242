#!/usr/bin/env python3
"""Times the decode step of a model that GPUs share, beside the step on one GPU.

For each model and batch: the step on all ranks, and with the same weights on one GPU, where the memory
that is free holds them. The logits of the ranks are compared with those of one GPU (check_decode.py --ranks
holds them to float32), and launches of the same input with each other, bit by bit. A time is the
median over rounds of launches on end.

What an all-reduce costs is the difference to a rank that is alone: a model of one GPU with so many
heads, inner rows and rows of the vocabulary as a rank has, over two all-reduces for each layer.

    bench_multi.py [--models NAME,..] [--batches N,..] [--ranks N] [--whole-experts]

$ETC is the compiler and $ETCRT names libetcrt.
"""

import argparse
import gc
import math
import os
import statistics
import time
import traceback
import zlib

import torch

import command
import decode_model
import etcrt
from bench_decode import bytes_read
from etc_decoder import EtcDecoder
from ranks_decoder import RanksDecoder, name_in
from timing import streaming_bytes_per_second

AGREEMENT = 0.1  # of logits whose sums are in other orders: relative
ROUNDS = 10
BF16_BYTES = 2
RESERVE = 2 << 30  # bytes of a GPU for buffers, logits and what the driver keeps


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", type=command.words, default=["Qwen3-8B", "Qwen3-32B"])
    parser.add_argument("--batches", type=command.integers, default=[1, 8, 32])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--launches", type=int, default=200, help="on end, for a time")
    parser.add_argument("--whole-experts", action="store_true",
                        help="of a mixture, on each rank, in the place of a part of each expert")
    parser.add_argument("--alike", type=int, default=1000, help="launches that must be alike")
    parser.add_argument(
        "--artifacts", default="build/bench_multi", help="folder of MODEL.RANKS.etca, which may be there"
    )
    return parser.parse_args()


def config_alone(config, ranks):
    """Of a model of one GPU with what a rank has."""
    inner = "moe_intermediate_size" if "num_experts" in config else "intermediate_size"
    shared = ("num_attention_heads", inner, "vocab_size")
    kv_heads = max(1, config["num_key_value_heads"] // ranks)
    return {**config, "num_key_value_heads": kv_heads, **{name: config[name] // ranks for name in shared}}


def program_of(name, ranks, options, alone=None):
    """Compiled beforehand, or now; with `alone`, the config of a rank that is."""
    whole = options.whole_experts and ranks > 1
    suffix = f"alone{options.ranks}" if alone else f"{ranks}.whole" if whole else ranks
    path = os.path.join(options.artifacts, f"{name.lower()}.{suffix}.etca")
    if not os.path.exists(path):
        source = decode_model.PROGRAMS[decode_model.read_config(name)["model_type"]]
        words = ["--config", decode_model.config_file(name), "-D", f"tp={ranks}"]
        words += ["-D", "expert_parallel=true"] if whole else []
        for constant in alone or {}:
            if alone[constant] != decode_model.read_config(name)[constant]:
                words += ["-D", f"{constant}={alone[constant]}"]
        command.compile_program(os.environ["ETC"], source, path, *words)
    return etcrt.Program(path)


class Cut:
    """How the ranks of a program have a weight: `name` of its parameter, along which axis it is cut, in how
    many parts, and of each rank which one."""

    def __init__(self, program, written, ranks):
        self.name = name_in(program, written)
        self.axis = program.params()[self.name].shard
        self.parts, self.part_of = 1, [0] * ranks
        if self.axis is not None:
            found = [program.part(self.name, rank, ranks) for rank in range(ranks)]
            self.parts, self.part_of = found[0][1], [part for part, _ in found]

    def shape(self, whole):
        """Of a part."""
        return tuple(extent // (self.parts if axis == self.axis else 1) for axis, extent in enumerate(whole))

    def bytes(self, whole):
        return BF16_BYTES * math.prod(self.shape(whole))


def cuts_of(program, config, ranks):
    """By the name of the page for one GPU."""
    return {name: Cut(program, name, ranks) for name in decode_model.weight_shapes(config)}


def cache_bytes(config, batch, context):
    """Of one GPU."""
    pages = batch * -(-(context + 1) // decode_model.PAGE_SIZE)
    return 2 * BF16_BYTES * math.prod(decode_model.cache_shape(config, pages, decode_model.PAGE_SIZE))


def has_room(count, device):
    """Whether the memory that is free on a GPU has so many bytes, beside what is kept in reserve."""
    return count + RESERVE <= torch.cuda.mem_get_info(device)[0]


def fits_one_gpu(config, cuts, options):
    """Whether one GPU holds all weights, the caches, and for a while a part of the largest weight."""
    shapes = decode_model.weight_shapes(config)
    weights = sum(BF16_BYTES * math.prod(shape) for shape in shapes.values())
    largest = max(cut.bytes(shapes[name]) for name, cut in cuts.items())
    return has_room(weights + largest + cache_bytes(config, max(options.batches), options.context), 0)


def drawn(config, written, shape, part, device):
    """A part of a weight, of the same numbers on each GPU."""
    generator = torch.Generator(device).manual_seed(zlib.crc32(f"{written} {part}".encode()))
    weight = torch.empty(shape, dtype=torch.bfloat16, device=device)
    return weight.normal_(*decode_model.spread(config, written), generator=generator)


def packed_weights(program, config, ranks):
    """Of each rank, which draws its parts on its own GPU. Numbers that are drawn alike are as good in any
    order, so they are drawn as the packed form."""
    shapes, cuts = decode_model.weight_shapes(config), cuts_of(program, config, ranks)
    needed = sum(cut.bytes(shapes[name]) for name, cut in cuts.items())
    weights = []
    for rank in range(ranks):
        if not has_room(needed, rank):
            raise RuntimeError(f"GPU {rank} has no room for the {needed / 1e9:.1f} GB of a rank's weights")
        device = f"cuda:{rank}"
        mine = {
            cut.name: drawn(config, written, cut.shape(shapes[written]), cut.part_of[rank], device)
            for written, cut in cuts.items()
        }
        inv_freq = decode_model.inverse_frequencies(config, device)
        weights.append(program.as_packed(mine) | {"inv_freq": inv_freq})
    return weights


def packed_whole(program, config, ranked, ranks):
    """The weights of one GPU, of the parts that the ranks of another program draw."""
    weights = {}
    for written, cut in cuts_of(ranked, config, ranks).items():
        shape = decode_model.weight_shapes(config)[written]
        whole = torch.empty(shape, dtype=torch.bfloat16, device="cuda:0")
        weights[written] = program.as_packed({written: whole})[written]
        places = [weights[written]] if cut.axis is None else weights[written].chunk(cut.parts, cut.axis)
        for part, place in enumerate(places):
            weight = drawn(config, written, cut.shape(shape), part, "cuda:0")
            place.copy_(ranked.as_packed({cut.name: weight})[cut.name])
    return weights | {"inv_freq": decode_model.inverse_frequencies(config, "cuda:0")}


def milliseconds(launch, synchronize, launches):
    times = []
    for _ in range(ROUNDS + 1):
        synchronize()
        begin = time.perf_counter()
        for _ in range(launches // ROUNDS):
            launch()
        synchronize()
        times.append((time.perf_counter() - begin) / (launches // ROUNDS) * 1e3)
    return statistics.median(times[1:])


def bench_batch(program, weights, config, batch, options):
    """Milliseconds, the logits, and how many launches differ from the first. `weights` of several ranks are
    a list."""
    torch.manual_seed(batch)
    state = decode_model.random_state(config, batch, options.context, "cuda:0")
    ids = torch.randint(0, config["vocab_size"], (batch,), dtype=torch.int32, device="cuda:0")
    pos = torch.full_like(ids, options.context)
    alone = not isinstance(weights, list)
    decoder = EtcDecoder(program, weights, *state) if alone else RanksDecoder(program, weights, *state)
    decoder.step(ids, pos)
    torch.cuda.synchronize()
    logits, token = decoder.logits.clone(), decoder.token.clone()
    if not torch.isfinite(logits).all() or (token < 0).any():
        raise RuntimeError("logits are not finite, or ranks have different tokens")
    if not alone and not decoder.has_equal_caches():
        raise RuntimeError("ranks that share KV heads have different caches")
    different = 0
    for _ in range(options.alike):
        decoder.poison()
        decoder.launch()
        torch.cuda.synchronize()
        different += not (torch.equal(decoder.logits, logits) and torch.equal(decoder.token, token))
    start, synchronize = (
        (decoder.launch, torch.cuda.synchronize) if alone else (decoder.start, decoder.synchronize)
    )
    took = milliseconds(start, synchronize, options.launches)
    if not alone:
        decoder.free()
    return took, logits, different


def bench_way(program, weights, config, options):
    """By batch. The weights are the caller's last ones."""
    found = {batch: bench_batch(program, weights, config, batch, options) for batch in options.batches}
    weights.clear()
    gc.collect()
    torch.cuda.empty_cache()
    return found


def bench_model(name, options, bandwidth):
    """Prints a row for each batch; whether all is right."""
    config, ranks = decode_model.read_config(name), options.ranks
    ranked = program_of(name, ranks, options)
    ways = {"ranks": bench_way(ranked, packed_weights(ranked, config, ranks), config, options)}
    if fits_one_gpu(config, cuts_of(ranked, config, ranks), options):
        one = program_of(name, 1, options)
        ways["one"] = bench_way(one, packed_whole(one, config, ranked, ranks), config, options)
    if not options.whole_experts:  # else there is no such model of one GPU
        part = config_alone(config, ranks)
        alone = program_of(name, 1, options, part)
        ways["alone"] = bench_way(alone, packed_weights(alone, part, 1)[0], part, options)
    right = True
    for batch in options.batches:
        floor = bytes_read(config, batch, options.context) / bandwidth * 1e3
        took, logits, different = ways["ranks"][batch]
        share = floor / ranks
        text = f"{name:20} {batch:5} {share:8.3f} {took:8.3f} {share / took:5.0%} "
        if "alone" in ways:
            reduction = (took - ways["alone"][batch][0]) / (2 * config["num_hidden_layers"]) * 1e3
            text += f"{reduction:9.2f} {different:9}"
        else:
            text += f"{'-':>9} {different:9}"
        right &= different == 0
        if "one" in ways:
            one_took, expected, _ = ways["one"][batch]
            difference = ((logits - expected).norm() / expected.norm()).item()
            right &= difference < AGREEMENT
            text += f" {one_took:8.3f} {floor / one_took:5.0%} {one_took / took:6.2f}x {difference:.1e}"
        print(text, flush=True)
    return right


def main():
    options = parse_arguments()
    bandwidth = streaming_bytes_per_second()
    gc.collect()
    torch.cuda.empty_cache()
    print(f"{options.ranks} of {torch.cuda.device_count()} x {torch.cuda.get_device_name()}, reads "
          f"stream at {bandwidth / 1e12:.2f} TB/s, context {options.context}")
    print("model                batch floor ms       ms share reduce us different  one GPU share    gain logits")
    failed = 0
    for name in options.models:
        try:
            failed += not bench_model(name, options, bandwidth)
        except Exception:  # one model's failure must not hide the others' results
            traceback.print_exc()
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
