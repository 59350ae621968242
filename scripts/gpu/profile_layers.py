#!/usr/bin/env python3
"""Says when the calls of a decode step's layers run: medians over the layers of one profiled launch.

All times are in us behind the end of the layer before, on its last SM. Of the tasks of a call, the
consumers' first, median and last beginning and their median and last end; of its copies, the first
and median beginning and the median and last end; of its reductions the median and last end.
"""

import argparse
import collections
import json
import statistics
from pathlib import Path

import torch

import command
import decode_model
from etc_decoder import EtcDecoder, compile_model
from timing import captured, interleaved_ms

CATEGORIES = ("load", "task", "reduce")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/profile_layers", help="folder for artifacts and traces")
    parser.add_argument("--model", default="Qwen3MoE-30B-A3B")
    parser.add_argument("--layers", type=int, default=16, help="how many the model has")
    parser.add_argument("--batches", type=command.words, default=["1", "8"])
    parser.add_argument("--context", type=int, default=512)
    return parser.parse_args()


def spans_of(trace):
    """Of each layer and call, in the order of the calls: the (begin, end) of each category's spans."""
    layers = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for event in trace["traceEvents"]:
        arguments = event.get("args", {})
        if event.get("cat") in CATEGORIES and "l" in arguments:
            call = event["name"].split("@", 1)[1].split("[", 1)[0]
            span = (event["ts"], event["ts"] + event["dur"])
            layers[int(arguments["l"])][call][event["cat"]].append(span)
    return layers


def end_of(layer):
    return max(end for call in layer.values() for spans in call.values() for _, end in spans)


def times_of(spans, begin):
    """The first, median and last beginning, the median and last end."""
    begins = sorted(span[0] - begin for span in spans)
    ends = sorted(span[1] - begin for span in spans)
    return [begins[0], statistics.median(begins), begins[-1], statistics.median(ends), ends[-1]]


def report(trace):
    layers = spans_of(trace)
    rows = collections.defaultdict(list)
    lengths = []
    for index in sorted(layers)[2:-1]:
        begin = end_of(layers[index - 1])
        lengths.append(end_of(layers[index]) - begin)
        for call, categories in layers[index].items():
            for category, spans in categories.items():
                rows[call, category].append(times_of(spans, begin))
    print(f"a layer takes {statistics.median(lengths):.2f} us")
    print(f"{'call':24} {'':6} {'first':>7} {'median':>7} {'last':>7} | ends: {'median':>7} {'last':>7}")
    order = sorted(rows, key=lambda key: statistics.median(row[4] for row in rows[key]))
    for call, category in order:
        first, median, last, end, last_end = (
            statistics.median(column) for column in zip(*rows[call, category])
        )
        print(
            f"{call:24} {category:6} {first:7.2f} {median:7.2f} {last:7.2f} |       {end:7.2f} {last_end:7.2f}"
        )


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    config = dict(decode_model.read_config(options.model), num_hidden_layers=options.layers)
    program = compile_model(
        options.etc, options.model, options.out, "sm_90a", layers=options.layers, more=["--profile", "--no-proofs"]
    )
    weights = decode_model.random_weights(config, "cuda")
    parameters = program.as_packed(decode_model.program_weights(weights, config))
    for batch in map(int, options.batches):
        state = decode_model.random_state(config, batch, options.context, "cuda")
        decoder = EtcDecoder(program, parameters, *state)
        decoder.pos.fill_(options.context)
        decoder.ids.copy_(torch.randint(0, config["vocab_size"], (batch,), device="cuda"))
        spread = interleaved_ms({"profiled": captured(decoder.launch)})["profiled"]
        decoder.launch()
        profile = decoder.runtime.profile()
        print(f"batch {batch}: {spread[0]:.3f} ms with a profile")
        trace = profile.json()
        folder = Path(options.out)
        (folder / f"{options.model.lower()}-{batch}.trace.json").write_text(trace, encoding="utf-8")
        report(json.loads(trace))
    return 0


if __name__ == "__main__":
    command.run(main)
