#!/usr/bin/env python3
"""Times the decode step of a model that GPUs share, beside the step on one GPU.

For each model and batch: the step on one GPU, where it holds the model, then on all ranks with the
same weights. The logits of the ranks are compared with those of one GPU (check_decode.py --ranks
holds them to float32), and launches of the same input with each other, bit by bit. A time is the
median over rounds of launches on end.

What an all-reduce costs is the difference to a rank that is alone: a model of one GPU with so many
heads, inner rows and rows of the vocabulary as a rank has, over two all-reduces for each layer.

    bench_multi.py [--models NAME,..] [--batches N,..] [--ranks N] [--whole-experts]

$ETC is the compiler and $ETCRT names libetcrt.
"""

import argparse
import gc
import os
import statistics
import time
import traceback

import torch

import command
import decode_model
import etcrt
from bench_decode import bytes_read
from etc_decoder import EtcDecoder
from ranks_decoder import RanksDecoder, name_in, part_of_tiles
from timing import streaming_bytes_per_second

AGREEMENT = 0.1  # of logits whose sums are in other orders: relative
ROUNDS = 10


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
    shared = ("num_attention_heads", "num_key_value_heads", inner, "vocab_size")
    return {**config, **{name: config[name] // ranks for name in shared}}


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


def shapes_of(config):
    """Of the weights, by the names of the model's page: those of the layers stacked."""
    layers, hidden, vocabulary, dim = (
        config[key] for key in ("num_hidden_layers", "hidden_size", "vocab_size", "head_dim")
    )
    q_size, kv_size = config["num_attention_heads"] * dim, decode_model.kv_width(config)
    shapes = {
        "embed": (vocabulary, hidden),
        "input_norm": (layers, hidden),
        "q_proj": (layers, q_size, hidden),
        "k_proj": (layers, kv_size, hidden),
        "v_proj": (layers, kv_size, hidden),
        "o_proj": (layers, hidden, q_size),
        "post_norm": (layers, hidden),
        "final_norm": (hidden,),
        "lm_head": (vocabulary, hidden),
    }
    experts = [config["num_experts"]] if "num_experts" in config else []
    inner = config["moe_intermediate_size" if experts else "intermediate_size"]
    shapes |= {
        "gate_proj": (layers, *experts, inner, hidden),
        "up_proj": (layers, *experts, inner, hidden),
        "down_proj": (layers, *experts, hidden, inner),
    }
    if experts:
        shapes["router"] = (layers, *experts, hidden)
    if config["model_type"] in ("qwen3", "qwen3_moe"):
        shapes |= {"q_norm": (layers, dim), "k_norm": (layers, dim)}
    return shapes


def packed_weights(program, config, ranks):
    """The same ones for each number of ranks; or nothing, where one GPU does not hold them. Numbers that
    are drawn alike are as good in any order, so they are drawn as the packed form of the whole."""
    torch.manual_seed(5)
    weights = [{} for _ in range(ranks)]
    try:
        for written, shape in shapes_of(config).items():
            name = name_in(program, written)
            mean, deviation = (1.0, 0.1) if "norm" in name else (0.0, 0.02)
            weight = torch.empty(shape, dtype=torch.bfloat16, device="cuda:0").normal_(mean, deviation)
            weight = program.as_packed({name: weight})[name]
            for rank in range(ranks):
                weights[rank][name] = part_of_tiles(program, name, weight, rank, ranks)
    except torch.OutOfMemoryError:
        if ranks > 1:
            raise
        return None
    half = config["head_dim"] // 2
    for rank, mine in enumerate(weights):
        exponents = torch.arange(half, device=f"cuda:{rank}") / half
        mine["inv_freq"] = config["rope_theta"] ** -exponents.float()
    return weights


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
    """Milliseconds, the logits, and how many launches differ from the first."""
    torch.manual_seed(batch)
    state = decode_model.random_state(config, batch, options.context, "cuda:0")
    ids = torch.randint(0, config["vocab_size"], (batch,), dtype=torch.int32, device="cuda:0")
    pos = torch.full_like(ids, options.context)
    alone = len(weights) == 1
    decoder = EtcDecoder(program, weights[0], *state) if alone else RanksDecoder(program, weights, *state)
    decoder.step(ids, pos)
    torch.cuda.synchronize()
    logits, token = decoder.logits.clone(), decoder.token.clone()
    if not torch.isfinite(logits).all() or (token < 0).any():
        raise RuntimeError("logits are not finite, or ranks have different tokens")
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


def bench_model(name, options, bandwidth):
    """Prints a row for each batch; whether all is right."""
    config = decode_model.read_config(name)
    found, right = {batch: {} for batch in options.batches}, True
    alone = config_alone(config, options.ranks)
    shapes = [(1, config), (options.ranks, config)]
    shapes += [] if options.whole_experts else [("alone", alone)]  # no such model of one GPU
    for ranks, shape in shapes:
        count = 1 if ranks == "alone" else ranks
        program = program_of(name, count, options, alone if ranks == "alone" else None)
        weights = packed_weights(program, shape, count)
        for batch in options.batches if weights else []:
            found[batch][ranks] = bench_batch(program, weights, shape, batch, options)
        weights = None
        gc.collect()
        torch.cuda.empty_cache()
    for batch, ways in found.items():
        floor = bytes_read(config, batch, options.context) / bandwidth * 1e3
        took, logits, different = ways[options.ranks]
        share = floor / options.ranks
        text = f"{name:16} {batch:5} {share:8.3f} {took:8.3f} {share / took:5.0%} "
        if "alone" in ways:
            reduction = (took - ways["alone"][0]) / (2 * config["num_hidden_layers"]) * 1e3
            text += f"{reduction:9.2f} {different:9}"
        else:
            text += f"{'-':>9} {different:9}"
        right &= different == 0
        if 1 in ways:
            one, expected, _ = ways[1]
            difference = ((logits - expected).norm() / expected.norm()).item()
            right &= difference < AGREEMENT
            text += f" {one:8.3f} {floor / one:5.0%} {one / took:6.2f}x {difference:.1e}"
        print(text, flush=True)
    return right


def main():
    options = parse_arguments()
    bandwidth = streaming_bytes_per_second()
    gc.collect()
    torch.cuda.empty_cache()
    print(f"{options.ranks} of {torch.cuda.device_count()} x {torch.cuda.get_device_name()}, reads "
          f"stream at {bandwidth / 1e12:.2f} TB/s, context {options.context}")
    print("model            batch floor ms       ms share reduce us different  one GPU share    gain logits")
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
