#!/usr/bin/env python3
"""Times the decode step of a model that ranks share, on several GPUs, beside that of one GPU.

For each model and batch: the step on one GPU, then on all ranks, with the same weights; the logits of
the ranks are compared with those of one GPU, and each of many launches with the first, bit by bit. A
time is the median over launches on end of all ranks.

    bench_multi.py [--models NAME,..] [--batches N,..] [--ranks N] [--layers N]

$ETC is the compiler and $ETCRT names libetcrt.
"""

import argparse
import ctypes
import gc
import os
import statistics
import traceback

import torch

import command
import decode_model
import etcrt
from etcrt._library import call, library
from timing import streaming_bytes_per_second
from bench_decode import bytes_read

HEADS_LAST = {"o_proj", "down_proj"}  # each rank has a part of their columns
SHARDED = {"q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head"}  # or of their rows
AGREEMENT = 2e-2  # of logits whose sums are in other orders: relative


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", type=command.words, default=["Qwen3-8B", "Qwen3-32B"])
    parser.add_argument("--batches", type=command.integers, default=[1, 8, 32])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--layers", type=int, help="only the first so many")
    parser.add_argument("--launches", type=int, default=200, help="on end, for a time")
    parser.add_argument("--alike", type=int, default=1000, help="launches that must be alike")
    parser.add_argument("--artifacts", default="build/bench_multi", help="folder MODEL.RANKS.etca")
    return parser.parse_args()


def program_of(name, ranks, options):
    """Compiled beforehand, or now."""
    path = os.path.join(options.artifacts, f"{name.lower()}.{ranks}.etca")
    if not os.path.exists(path):
        source = decode_model.PROGRAMS[decode_model.read_config(name)["model_type"]]
        words = ["--config", decode_model.config_file(name), "-D", f"tp={ranks}"]
        if options.layers:
            words += ["-D", f"num_hidden_layers={options.layers}"]
        command.compile_program(os.environ["ETC"], source, path, *words)
    return etcrt.Program(path)


def full_weights(config, device):
    """Weights as a checkpoint has them, stacked over the layers."""
    layers, hidden, inner = (
        config[key] for key in ("num_hidden_layers", "hidden_size", "intermediate_size")
    )
    dim = config["head_dim"]
    q_size, kv_size = config["num_attention_heads"] * dim, decode_model.kv_width(config)
    shapes = {
        "embed": (config["vocab_size"], hidden),
        "input_norm": (layers, hidden),
        "q_proj": (layers, q_size, hidden),
        "k_proj": (layers, kv_size, hidden),
        "v_proj": (layers, kv_size, hidden),
        "o_proj": (layers, hidden, q_size),
        "post_norm": (layers, hidden),
        "gate_proj": (layers, inner, hidden),
        "up_proj": (layers, inner, hidden),
        "down_proj": (layers, hidden, inner),
        "final_norm": (hidden,),
        "lm_head": (config["vocab_size"], hidden),
    }
    if config["model_type"] == "qwen3":
        shapes |= {"q_norm": (layers, dim), "k_norm": (layers, dim)}
    for name, shape in shapes.items():
        mean, deviation = (1.0, 0.1) if "norm" in name else (0.0, 0.02)
        yield name, torch.empty(shape, dtype=torch.bfloat16, device=device).normal_(mean, deviation)
    half = dim // 2
    exponents = torch.arange(half, device=device) / half
    yield "inv_freq", config["rope_theta"] ** -exponents.float()


def part(name, weight, rank, ranks):
    """What a rank has of a weight or a cache."""
    axis = {**{each: -1 for each in HEADS_LAST}, **{each: -2 for each in SHARDED},
            "k_cache": 2, "v_cache": 2}.get(name)
    if axis is None:
        return weight
    return weight.chunk(ranks, axis)[rank].contiguous()


class Ranks:
    """A batch of sequences on all ranks."""

    def __init__(self, program, ranks, batch, max_pages, num_pages):
        self.program = program
        self.handle = ctypes.c_void_p()
        call("etc_group_create", program.handle, None, ctypes.c_int32(ranks), ctypes.byref(self.handle))
        self.ranks, self.tensors = [], [{} for _ in range(ranks)]
        for number in range(ranks):
            handle = ctypes.c_void_p()
            call("etc_group_instance", self.handle, ctypes.c_int32(number), ctypes.byref(handle))
            rank = etcrt.Runtime.__new__(etcrt.Runtime)
            rank.program, rank._params, rank._bound = program, program.params(), {}
            rank._weights, rank._handle = None, type("Borrowed", (), {"pointer": handle})
            for dim, value in (("batch", batch), ("max_pages", max_pages), ("num_pages", num_pages)):
                rank.set_dim(dim, value)
            self.ranks.append(rank)

    def bind(self, number, **tensors):
        with torch.cuda.device(number):
            self.ranks[number].bind(**tensors)
        self.tensors[number].update(tensors)

    def launch(self):
        call("etc_group_launch", self.handle, None)

    def synchronize(self):
        call("etc_group_synchronize", self.handle, None)

    def free(self):
        library().etc_group_free(self.handle)


def prepare(program, ranks, config, state, batch, options):
    """A group with weights and caches; `state` makes the same ones each time."""
    pages = -(-(options.context + 1) // decode_model.PAGE_SIZE)
    if ranks == 1:
        run = etcrt.Runtime(program)
        for dim, value in (("batch", batch), ("max_pages", pages), ("num_pages", batch * pages)):
            run.set_dim(dim, value)
        bind = lambda number, **tensors: run.bind(**tensors)
    else:
        run = Ranks(program, ranks, batch, pages, batch * pages)
        bind = run.bind
    for name, tensor in state():
        for number in range(ranks):
            device = torch.device("cuda", number)
            mine = part(name, tensor, number, ranks).to(device)
            with torch.cuda.device(device):
                packed = program.pack(name, mine) if program.tiles().get(name) else mine
                torch.cuda.synchronize()
            bind(number, **{name: packed})
        del tensor
    for number in range(ranks):
        device = torch.device("cuda", number)
        logits = torch.full((batch, config["vocab_size"] // ranks), float("nan"), device=device)
        token = torch.full((batch,), -1, dtype=torch.int32, device=device)
        bind(number, logits=logits, token=token)
        torch.cuda.synchronize(device)
        (run.outputs if hasattr(run, "outputs") else run.__dict__.setdefault("outputs", [])).append(
            (logits, token))
    return run


def milliseconds(launch, synchronize, launches):
    """The median over ten rounds of launches on end."""
    import time

    times = []
    for _ in range(10):
        synchronize()
        begin = time.perf_counter()
        for _ in range(launches // 10):
            launch()
        synchronize()
        times.append((time.perf_counter() - begin) / (launches // 10) * 1e3)
    return statistics.median(times[1:])


def bench(name, batch, config, programs, options, bandwidth):
    ranks = options.ranks
    pages = -(-(options.context + 1) // decode_model.PAGE_SIZE)
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(0, config["vocab_size"], (batch,), generator=generator, dtype=torch.int32)

    def state():
        torch.manual_seed(5)
        device = "cuda:0"
        yield from full_weights(config, device)
        shape = decode_model.cache_shape(config, batch * pages, decode_model.PAGE_SIZE)
        for cache in ("k_cache", "v_cache"):
            yield cache, torch.randn(shape, dtype=torch.bfloat16, device=device)
        order = torch.randperm(batch * pages, device=device)
        yield "page_table", order.view(batch, pages).to(torch.int32)
        yield "ids", ids.to(device)
        yield "pos", torch.full((batch,), options.context, dtype=torch.int32, device=device)

    row = {"floor": bytes_read(config, batch, options.context) / bandwidth * 1e3}
    expected = None
    for count in (1, ranks):
        if count not in programs:
            continue
        try:
            run = prepare(programs[count], count, config, state, batch, options)
        except torch.OutOfMemoryError:
            if count > 1:
                raise
            gc.collect()
            torch.cuda.empty_cache()
            continue  # a model that one GPU cannot hold
        synchronize = run.synchronize if count > 1 else torch.cuda.synchronize
        run.launch()
        synchronize()
        logits = torch.cat([each.to("cuda:0") for each, _ in run.outputs], 1)
        tokens = [each.tolist() for _, each in run.outputs]
        if not torch.isfinite(logits).all() or any(each != tokens[0] for each in tokens):
            raise RuntimeError(f"{count} ranks: logits are not finite, or tokens differ: {tokens}")
        if count == 1:
            expected = logits
        elif expected is not None:
            row["difference"] = ((logits - expected).norm() / expected.norm()).item()
        wrong = 0
        for _ in range(options.alike if count > 1 else 0):
            run.launch()
            synchronize()
            again = torch.cat([each.to("cuda:0") for each, _ in run.outputs], 1)
            wrong += int(not torch.equal(again, logits))
        row[f"alike {count}"] = wrong
        row[count] = milliseconds(run.launch, synchronize, options.launches)
        if count > 1:
            run.free()
        del run
        gc.collect()
        torch.cuda.empty_cache()
    return row


def main():
    options = parse_arguments()
    bandwidth = streaming_bytes_per_second()
    gc.collect()
    torch.cuda.empty_cache()
    print(f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}, reads stream at "
          f"{bandwidth / 1e12:.2f} TB/s")
    failed = 0
    for name in options.models:
        config = decode_model.read_config(name, options.layers)
        programs = {}
        try:
            for count in {1, options.ranks}:
                programs[count] = program_of(name, count, options)
            for batch in options.batches:
                row = bench(name, batch, config, programs, options, bandwidth)
                floor, one, all_ranks = row["floor"], row.get(1, float("nan")), row[options.ranks]
                print(f"{name} batch {batch}: floor {floor:.3f} / {floor / options.ranks:.3f}, one GPU "
                      f"{one:.3f} ms ({floor / one:.0%}), {options.ranks} ranks {all_ranks:.3f} ms "
                      f"({floor / options.ranks / all_ranks:.0%}), {one / all_ranks:.2f}x; logits differ by "
                      f"{row.get('difference', float('nan')):.1e}, {row[f'alike {options.ranks}']} of "
                      f"{options.alike} launches not alike", flush=True)
                if row.get("difference", 0) > AGREEMENT or row[f"alike {options.ranks}"]:
                    failed += 1
        except Exception:  # one model's failure must not hide the others' results
            traceback.print_exc()
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
