#!/usr/bin/env python3
"""Times the decode step of etc beside PyTorch's and beside the time to read the weights and the cache.

All in one run on one card: the streaming bandwidth, etc launched on a stream, etc in a CUDA graph,
and PyTorch (baseline_decode.py) in a CUDA graph. Medians of the times between launches.
"""

import argparse
import gc
import json
import os
import sys
import traceback

import torch

import decode_model
from baseline_decode import baseline_ms
from etc_decoder import EtcDecoder, compile_model
from timing import captured, median_ms, streaming_bytes_per_second


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_decode", help="folder for artifacts")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--models", default="Qwen3-0.6B,Llama-3.2-1B,Qwen3-8B")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--context", type=int, default=512, help="tokens in the cache")
    parser.add_argument("--no-baseline", action="store_true", help="leave PyTorch out")
    return parser.parse_args()


def bytes_read(config, batch, context):
    """Weights and cache that a step cannot do without."""
    hidden, dim = config["hidden_size"], config["head_dim"]
    q_size, kv_size = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    projections = (2 * q_size + 2 * kv_size + 3 * config["intermediate_size"]) * hidden
    cache = 2 * batch * kv_size * context
    return 2 * (config["num_hidden_layers"] * (projections + cache) + config["vocab_size"] * hidden)


def random_weights(name):
    model = decode_model.build(name, "cuda")
    return decode_model.parameters(model)


def etc_ms(program, weights, config, batch, context):
    """On a stream, and in a CUDA graph."""
    shape = decode_model.cache_shape(config, batch, context + 1)
    caches = [torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
    decoder = EtcDecoder(program, weights, *caches)
    decoder.pos.fill_(context)
    decoder.poison()
    on_stream = median_ms(decoder.launch)
    if not torch.isfinite(decoder.logits).all():
        raise RuntimeError("the logits that were timed are not finite")
    return on_stream, median_ms(captured(decoder.launch))


def free():
    gc.collect()
    torch.cuda.empty_cache()


def bench_model(name, options, bandwidth):
    config = decode_model.read_config(name)
    batches = [int(word) for word in options.batches.split(",")]
    program = compile_model(options.etc, name, options.out, "sm_90a")
    weights = program.pack_all(random_weights(name))
    free()
    times = {batch: etc_ms(program, weights, config, batch, options.context) for batch in batches}
    del weights
    free()
    rows = []
    for batch in batches:
        on_stream, in_graph = times[batch]
        row = {
            "model": name,
            "batch": batch,
            "context": options.context,
            "floor_ms": bytes_read(config, batch, options.context) / bandwidth * 1e3,
            "etc_stream_ms": on_stream,
            "etc_graph_ms": in_graph,
            "torch_graph_ms": None,
        }
        if not options.no_baseline:
            row["torch_graph_ms"] = baseline_ms(config, batch, options.context)
            free()
        print(line(row), flush=True)
        rows.append(row)
    return rows


def line(row):
    etc, reference = row["etc_graph_ms"], row["torch_graph_ms"]
    compared = "-" if reference is None else f"{reference:8.3f}  {reference / etc:5.2f}x"
    return (
        f"{row['model']:14} {row['batch']:5} {row['floor_ms']:8.3f} {row['etc_stream_ms']:8.3f} "
        f"{etc:8.3f}  {row['floor_ms'] / etc:6.1%}  {compared}"
    )


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    bandwidth = streaming_bytes_per_second()
    free()
    device = torch.cuda.get_device_name()
    print(f"{device}, PyTorch {torch.__version__}, context {options.context}")
    print(f"streaming reads: {bandwidth / 1e12:.2f} TB/s")
    print("model          batch floor ms   etc ms in graph   share  PyTorch    etc is", flush=True)
    rows, failures = [], {}
    for name in options.models.split(","):
        try:
            rows += bench_model(name, options, bandwidth)
        except Exception:  # one model's failure must not hide the others' results
            traceback.print_exc()
            failures[name] = traceback.format_exc()
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
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Tearing down a CUDA context whose kernel hangs would hang too.
    os._exit(code)
