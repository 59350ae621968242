#!/usr/bin/env python3
"""Times the mixture of experts of one layer (ir-examples/moe_layer.etir) under several schedules, beside
PyTorch's grouped matrix products, with --vllm beside vLLM's fused experts, and beside the time to read the
experts that are used.

All in one run on one card, each way in a CUDA graph, by turns. A graph holds launches on several copies
of the weights, so that no launch finds them in the L2 cache. The outputs of all schedules are held to
a reference in float32 on the same routing.
"""

import argparse
import gc
import json
import math
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import _dynamo

import command
import decode_model
import etcrt
from baseline_decode import experts, rms_norm
from timing import captured, interleaved_ms, streaming_bytes_per_second

LAYER = decode_model.EXAMPLES / "moe_layer.etir"
ROUTINGS = ("uniform", "zipf:1.2", "hot:1", "hot:8")
COLUMN = 16.0  # what each token has in the column by which the router prefers experts
ALLOWED_ERROR = 1.2  # of what PyTorch's own bf16 run has against float32


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_moe", help="folder for artifacts")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--model", default="Qwen3MoE-30B-A3B", help="whose config.json")
    parser.add_argument("--tokens", type=command.words, default=command.words("1,8,32,128,512,1024,4096"))
    parser.add_argument("--routings", type=command.words, default=list(ROUTINGS))
    parser.add_argument("--schedules", type=command.words, default=["static", "drain", "kernels"],
                        help="each may have the name of a tuning file behind it: kernels:tiled.json")
    parser.add_argument("--copies", type=int, default=4, help="of the weights")
    parser.add_argument("--no-baseline", action="store_true", help="leave PyTorch out")
    parser.add_argument("--vllm", action="store_true", help="with vLLM's layer, where vLLM is installed")
    return parser.parse_args()


def preferences(routing, count, device):
    """What is added to each expert's logit: nothing, the logarithms of Zipf's law, or so much for the
    first few experts that every token goes to them."""
    kind, _, number = routing.partition(":")
    added = torch.zeros(count, device=device)
    if kind == "zipf":
        added = -float(number) * torch.arange(1, count + 1, device=device).log()
    elif kind == "hot":
        added[: int(number)] = 30.0
    elif kind != "uniform":
        raise ValueError(f"unknown routing `{routing}`: uniform, zipf:EXPONENT or hot:EXPERTS")
    return added


def random_layer(config, routing, device):
    """Weights of a layer whose router draws experts by `routing`. The random part of its logits has the
    deviation of Gumbel's distribution, so that the largest few are a draw by the preferences."""
    hidden, count = config["hidden_size"], config["num_experts"]
    inner = config["moe_intermediate_size"]

    def random(*shape, deviation=0.02):
        return torch.empty(shape, dtype=torch.bfloat16, device=device).normal_(0.0, deviation)

    router = random(count, hidden, deviation=math.pi / math.sqrt(6 * hidden))
    scale = COLUMN / math.sqrt(1 + COLUMN**2 / hidden)
    shuffled = torch.randperm(count, device=device)
    router[:, 0] = (preferences(routing, count, device)[shuffled] / scale).bfloat16()
    return {
        "norm": torch.ones(hidden, dtype=torch.bfloat16, device=device),
        "router": router,
        "gate_up": random(count, 2 * inner, hidden),
        "down": random(count, hidden, inner),
    }


def random_tokens(config, tokens, device):
    h = torch.randn(tokens, config["hidden_size"], device=device)
    h[:, 0] = COLUMN
    return h.bfloat16()


def program_weights(layer, program):
    inner = layer["gate_up"].shape[1] // 2
    parameters = {name: layer[name] for name in ("norm", "router")}
    parameters["gate_proj"] = layer["gate_up"][:, :inner].contiguous()
    parameters["up_proj"] = layer["gate_up"][:, inner:].contiguous()
    parameters["down_proj"] = layer["down"]
    return program.pack_all(parameters)


def router_logits(h, layer, config):
    """The normed tokens and what the router finds for them, in float32."""
    normed = rms_norm(h.float(), layer["norm"].float(), config["rms_norm_eps"])
    return normed, normed @ layer["router"].float().t()


def routed(h, layer, config):
    """How many experts are used, and how many tokens the most used one has, in float32."""
    _, logits = router_logits(h, layer, config)
    chosen = logits.topk(config["num_experts_per_tok"], -1).indices
    counts = torch.bincount(chosen.flatten(), minlength=config["num_experts"])
    return int((counts > 0).sum()), int(counts.max())


def reference(h, normed, logits, layer, config):
    """The layer in float32."""
    best, chosen = logits.topk(config["num_experts_per_tok"], -1)
    weight = torch.softmax(best, -1)
    out = h.float()
    for expert in chosen.unique().tolist():
        token, place = (chosen == expert).nonzero(as_tuple=True)
        gate, up = (normed[token] @ layer["gate_up"][expert].float().t()).chunk(2, -1)
        found = (F.silu(gate) * up) @ layer["down"][expert].float().t()
        out.index_add_(0, token, found * weight[token, place, None])
    return out


class TorchLayer:
    """What a user would run instead: torch.compile, cuBLAS and grouped matrix products."""

    def __init__(self, layer, h, config):
        self.layer, self.h, self.config = layer, h, config
        self.compiled = torch.compile(self.layer_of, fullgraph=True)

    def layer_of(self, h, norm, router, gate_up, down):
        normed = rms_norm(h, norm, self.config["rms_norm_eps"])
        return h + experts(normed, router, gate_up, down, self.config["num_experts_per_tok"])

    @torch.no_grad()
    def run(self):
        self.out = self.compiled(self.h, *(self.layer[x] for x in ("norm", "router", "gate_up", "down")))


class VllmLayer:
    """The same from vLLM's kernels, call by call as its runner does: norm, router, choice, fused experts."""

    def __init__(self, layer, h, config):
        self.layer, self.h, self.config = layer, h, config

    @torch.no_grad()
    def run(self):
        from vllm import _custom_ops
        from vllm.model_executor.layers.fused_moe import fused_experts, fused_topk

        normed = torch.empty_like(self.h)
        _custom_ops.rms_norm(normed, self.h, self.layer["norm"], self.config["rms_norm_eps"])
        logits = F.linear(normed, self.layer["router"])
        weight, chosen, _ = fused_topk(normed, logits, self.config["num_experts_per_tok"], renormalize=True)
        self.out = self.h + fused_experts(normed, self.layer["gate_up"], self.layer["down"], weight, chosen)


class EtcLayer:
    """One copy of the layer under one schedule."""

    def __init__(self, program, weights, h):
        self.runtime = etcrt.Runtime(program)
        self.runtime.set_dim("tokens", len(h))
        self.out = torch.full_like(h, float("nan"))
        self.runtime.bind(h=h, out=self.out, **weights)
        self.runtime.reserve()

    def run(self):
        self.runtime.launch()


def relative_error(actual, expected, subtracted):
    """Of what the experts add to the residual stream."""
    return ((actual.float() - expected).norm() / (expected - subtracted.float()).norm()).item()


def check(ways, layer, h, config):
    """The error of each way's first copy; of tokens whose choice is clear by a margin of bf16's error."""
    normed, logits = router_logits(h, layer, config)
    best = logits.topk(config["num_experts_per_tok"] + 1, -1).values
    clear = best[:, -2] - best[:, -1] > 0.05
    if not clear.any():
        return {name: None for name in ways}
    expected = reference(h, normed, logits, layer, config)[clear]
    return {
        name: relative_error(copies[0].out[clear], expected, h[clear])
        for name, copies in ways.items()
    }


def bench_point(routing, tokens, programs, options, config, bandwidth):
    layers = [random_layer(config, routing, "cuda") for _ in range(options.copies)]
    h = random_tokens(config, tokens, "cuda")
    packed = [program_weights(layer, next(iter(programs.values()))) for layer in layers]
    ways = {
        name: [EtcLayer(program, weights, h) for weights in packed]
        for name, program in programs.items()
    }
    if not options.no_baseline:
        _dynamo.reset()
        ways["torch_graph"] = [TorchLayer(layer, h, config) for layer in layers]
    if options.vllm:
        ways["vllm"] = [VllmLayer(layer, h, config) for layer in layers]

    def all_copies(copies):
        return lambda: [copy.run() for copy in copies] and None

    steps = {name: captured(all_copies(copies)) for name, copies in ways.items()}
    spreads = interleaved_ms(steps)
    errors = check(ways, layers[0], h, config)
    used, most = routed(h, layers[0], config)
    inner, hidden = config["moe_intermediate_size"], config["hidden_size"]
    size = 2 * (used * 3 * inner * hidden + config["num_experts"] * hidden)
    first = next(iter(programs))
    equal = {
        name: all(torch.equal(a.out, b.out) for a, b in zip(ways[name], ways[first]))
        for name in programs
    }
    return {
        "routing": routing,
        "tokens": tokens,
        "used": used,
        "most": most,
        "floor_us": size / bandwidth * 1e6,
        "us": {name: 1e3 * spread[0] / options.copies for name, spread in spreads.items()},
        "errors": errors,
        "equal_bits": equal,
    }


def passed(row):
    torch_error = row["errors"].get("torch_graph")
    for name in row["equal_bits"]:  # our schedules
        error = row["errors"][name]
        limit = ALLOWED_ERROR * torch_error if torch_error is not None else 2e-2
        if error is not None and not error <= limit:
            return False
    return True


def line(row, names):
    times = " ".join(f"{row['us'].get(name, math.nan):11.1f}" for name in names)
    errors = ", ".join(
        f"{name} {error:.2e}" for name, error in row["errors"].items() if error is not None
    )
    equal = "" if all(row["equal_bits"].values()) else "  schedules differ in bits"
    return (
        f"{row['routing']:9} {row['tokens']:6} {row['used']:5} {row['most']:5} {row['floor_us']:9.1f} "
        f"{times}  {errors}{equal}{'' if passed(row) else '  FAILED'}"
    )


def compiled(schedule, options):
    artifact = Path(options.out) / f"{options.model.lower()}-layer-{schedule.replace('/', '-')}.etca"
    config = decode_model.config_file(options.model)
    schedule, _, tuning = schedule.partition(":")
    words = ["--config", config, "--schedule", schedule, *(["--tuning", tuning] if tuning else [])]
    return etcrt.Program(str(command.compile_program(options.etc, LAYER, artifact, *words)))


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    bandwidth = streaming_bytes_per_second()
    config = decode_model.read_config(options.model)
    programs = {schedule: compiled(schedule, options) for schedule in options.schedules}
    names = [*programs, *([] if options.no_baseline else ["torch_graph"]), *(["vllm"] if options.vllm else [])]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, all in CUDA graphs")
    print(f"streaming reads: {bandwidth / 1e12:.2f} TB/s; microseconds of one layer")
    print("routing   tokens  used  most  floor us " + " ".join(f"{name:>11}" for name in names))
    rows, failed = [], False
    for routing in options.routings:
        for tokens in map(int, options.tokens):
            try:
                row = bench_point(routing, tokens, programs, options, config, bandwidth)
                print(line(row, names), flush=True)
                rows.append(row)
                failed = failed or not passed(row)
            except Exception:  # one point's failure must not hide the others' results
                traceback.print_exc()
                failed = True
            gc.collect()
            torch.cuda.empty_cache()
    if options.json:
        report = {"streaming_bytes_per_second": bandwidth, "rows": rows}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
