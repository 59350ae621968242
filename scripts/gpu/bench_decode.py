#!/usr/bin/env python3
"""Times the decode step of etc, as one kernel and as separate kernels, beside PyTorch's and beside the
time to read the weights and the cache.

All in one run on one card: the streaming bandwidth, and each way in a CUDA graph, by turns, all with
the weights in the same memory. Medians of the times between launches. The two ways of etc have the
same inputs, and their logits are compared; check_decode.py holds the logits to a reference.
"""

import argparse
import gc
import json
import traceback

import torch

import command
import decode_model
import etcrt
from baseline_decode import Baseline
from etc_decoder import EtcDecoder, artifact_path, compile_model
from timing import captured, interleaved_ms, streaming_bytes_per_second

SCHEDULES = ("static", "kernels")
WAYS = (*SCHEDULES, "torch_graph")
AGREEMENT = 2e-2  # of the logits of two schedules: relative, for sums of bf16 products in other orders
TURNED = 0.5  # of a mixture of experts: a rounding error turns some choices of random weights


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_decode", help="folder for artifacts")
    parser.add_argument(
        "--artifacts", help="folder of artifacts MODEL-SCHEDULE.cubin that are compiled already"
    )
    parser.add_argument("--json", help="file for the results")
    parser.add_argument(
        "--models",
        type=command.words,
        default=["Qwen3-0.6B", "Llama-3.2-1B", "Qwen3-8B"],
        help="each NAME or NAME@CONTEXT, by commas; a context is 512 tokens unless given",
    )
    parser.add_argument("--batches", type=command.words, default=["1", "8", "32", "128"])
    parser.add_argument("--schedules", type=command.words, default=list(SCHEDULES))
    parser.add_argument("--no-baseline", action="store_true", help="leave PyTorch out")
    return parser.parse_args()


def experts_used(config, batch):
    """How many experts of a layer some sequence is sent to, in the mean of independent even choices."""
    experts = config["num_experts"]
    return experts * (1 - (1 - config["num_experts_per_tok"] / experts) ** batch)


def bytes_read(config, batch, context):
    """Weights and cache that a step cannot do without."""
    hidden, dim = config["hidden_size"], config["head_dim"]
    q_size, kv_size = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    if "num_experts" in config:
        inner = experts_used(config, batch) * config["moe_intermediate_size"]
        rows = 3 * inner + config["num_experts"]
    else:
        rows = 3 * config["intermediate_size"]
    projections = (2 * q_size + 2 * kv_size + rows) * hidden
    windows = (decode_model.window_of(config, layer) for layer in range(config["num_hidden_layers"]))
    positions = sum(min(context, window or context) for window in windows)
    weights = config["num_hidden_layers"] * projections + config["vocab_size"] * hidden
    return 2 * (weights + 2 * batch * kv_size * positions)


def check_logits(decoders, limit):
    """The relative difference of each schedule's logits, of the launches that were timed, from the
    first's."""
    expected = next(iter(decoders.values())).logits
    for schedule, decoder in decoders.items():
        if not torch.isfinite(decoder.logits).all():
            raise RuntimeError(f"the logits of `{schedule}` that were timed are not finite")
    differences = {
        schedule: ((decoder.logits - expected).norm() / expected.norm()).item()
        for schedule, decoder in decoders.items()
    }
    if max(differences.values()) > limit:
        raise RuntimeError(f"the schedules' logits differ: {differences}")
    return differences


def bench_batch(name, config, programs, weights, batch, context, options):
    """All ways at one batch, by turns."""
    parameters = decode_model.program_weights(weights, config)
    inputs = decode_model.random_state(config, batch, context, "cuda")
    ids = torch.randint(0, config["vocab_size"], (batch,), device="cuda")
    decoders = {}
    for schedule, program in programs.items():
        decoders[schedule] = EtcDecoder(program, program.as_packed(parameters), *inputs)
        decoders[schedule].pos.fill_(context)
        decoders[schedule].ids.copy_(ids)
        decoders[schedule].poison()
    steps = {schedule: captured(decoder.launch) for schedule, decoder in decoders.items()}
    if not options.no_baseline:
        steps["torch_graph"] = captured(Baseline(config, weights, batch, context).step)
    spreads = interleaved_ms(steps)
    return {
        "model": name,
        "batch": batch,
        "context": context,
        "logits_difference": check_logits(decoders, TURNED if "num_experts" in config else AGREEMENT),
        **{f"{way}_ms": spreads[way][0] if way in spreads else None for way in WAYS},
        "spread_ms": spreads,
    }


def bench_model(word, options, bandwidth):
    """Yields a row for each batch."""
    name, _, given = word.partition("@")
    context = int(given or 512)
    config = decode_model.read_config(name)
    programs = {
        schedule: load_program(name, schedule, options) for schedule in options.schedules
    }
    low, high, _ = next(iter(programs.values())).dims()["batch"]
    weights = decode_model.random_weights(config, "cuda")
    for batch in map(int, options.batches):
        if low <= batch <= high:
            row = bench_batch(name, config, programs, weights, batch, context, options)
            row["floor_ms"] = bytes_read(config, batch, context) / bandwidth * 1e3
            yield row
            free()


def load_program(name, schedule, options):
    if options.artifacts:
        return etcrt.Program(artifact_path(name, options.artifacts, "sm_90a", schedule))
    return compile_model(options.etc, name, options.out, "sm_90a", schedule)


def free():
    gc.collect()
    torch.cuda.empty_cache()


def line(row):
    best = row["static_ms"] or row["kernels_ms"]

    def against(key):
        other = row[key]
        return f"{'-':>17}" if other is None else f"{other:9.3f} {other / best:6.2f}x"

    return (
        f"{row['model']:14} {row['context']:7} {row['batch']:5} {row['floor_ms']:8.3f} {best:8.3f} "
        f"{row['floor_ms'] / best:6.1%} {against('kernels_ms')} {against('torch_graph_ms')}"
    )


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    bandwidth = streaming_bytes_per_second()
    free()
    device = torch.cuda.get_device_name()
    print(f"{device}, PyTorch {torch.__version__}, all in CUDA graphs; x: over the time of etc")
    print(f"streaming reads: {bandwidth / 1e12:.2f} TB/s")
    print("model          context batch floor ms   etc ms  share    kernels             PyTorch")
    rows, failures = [], {}
    for word in options.models:
        try:
            for row in bench_model(word, options, bandwidth):
                print(line(row), flush=True)
                rows.append(row)
        except Exception:  # one model's failure must not hide the others' results
            traceback.print_exc()
            failures[word] = traceback.format_exc()
        free()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            report = {
                "device": device,
                "torch": torch.__version__,
                "streaming_bytes_per_second": bandwidth,
                "rows": rows,
                "failures": failures,
            }
            json.dump(report, file, indent=1)
            file.write("\n")
    return 1 if failures else 0


if __name__ == "__main__":
    command.run(main)
