"""Timing on the GPU, and the bandwidth that a stream of reads reaches on this card today."""

import random
import statistics

import torch
import triton
import triton.language as tl

WORDS = 1 << 30  # of 4 bytes: far more than the caches hold
BLOCK = 4096


def times_ms(run, repetitions=50, warm_up=5):
    """Of launches that follow each other on the current stream."""
    for _ in range(warm_up):
        run()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repetitions + 1)]
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(events, events[1:])]


def interleaved_ms(runs, rounds=6, repetitions=10, warm_up=3):
    """For several of a dict, by turns, so that what drifts drifts for all: the median, the least and the
    greatest. Each round has another order, as what ran before a turn has heated the card."""
    times = {name: [] for name in runs}
    order, shuffled = list(runs), random.Random(1)
    for _ in range(rounds):
        shuffled.shuffle(order)
        for name in order:
            times[name] += times_ms(runs[name], repetitions, warm_up)
    return {name: (statistics.median(all), min(all), max(all)) for name, all in times.items()}


def captured(run):
    """`run` as one CUDA graph; call the result to launch it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


@triton.jit
def read_words(data, out, steps, block: tl.constexpr):
    program = tl.program_id(0)
    offsets = program.to(tl.int64) * block + tl.arange(0, block)
    total = tl.zeros((block,), tl.int32)
    for _ in range(steps):
        total += tl.load(data + offsets, eviction_policy="evict_first")
        offsets += tl.num_programs(0).to(tl.int64) * block
    tl.store(out + program, tl.sum(total, axis=0))


def streaming_bytes_per_second():
    """The best of a few launch shapes, each a read of 4 GiB."""
    data = torch.zeros(WORDS, dtype=torch.int32, device="cuda")
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    best = 0.0
    for programs in (4 * sms, 8 * sms, 16 * sms, 32 * sms):
        steps = WORDS // (programs * BLOCK)
        out = torch.empty(programs, dtype=torch.int32, device="cuda")
        ms = statistics.median(
            times_ms(lambda: read_words[(programs,)](data, out, steps, block=BLOCK), 10)
        )
        best = max(best, steps * programs * BLOCK * 4 / ms * 1e3)
    return best
