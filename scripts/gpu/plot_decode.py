#!/usr/bin/env python3
"""Draws the results of bench_decode.py: for each model and context a panel with the time of a step
over the batch, beside the floor. Needs matplotlib; the file's suffix chooses its format."""

import argparse
import json
import sys

SERIES = (
    ("torch_graph_ms", "PyTorch, CUDA graph", "#c44e52"),
    ("kernels_ms", "etc, separate kernels", "#dd8452"),
    ("static_ms", "etc, one kernel", "#4c72b0"),
    ("floor_ms", "floor: reading weights and cache", "#8c8c8c"),
)


def panels(rows):
    """The rows of each (model, context), in the order of the report."""
    groups = {}
    for row in rows:
        groups.setdefault((row["model"], row["context"]), []).append(row)
    return groups


def draw(report, path):
    from matplotlib import pyplot

    groups = panels(report["rows"])
    figure, axes = pyplot.subplots(
        1, len(groups), figsize=(max(5, 3.2 * len(groups)), 3.6), squeeze=False, layout="constrained"
    )
    for axis, ((model, context), rows) in zip(axes[0], groups.items()):
        places = range(len(rows))
        present = [series for series in SERIES if any(row.get(series[0]) for row in rows)]
        width = 0.8 / len(present)
        for number, (key, label, color) in enumerate(present):
            heights = [row.get(key) or 0 for row in rows]
            lefts = [place + (number - (len(present) - 1) / 2) * width for place in places]
            axis.bar(lefts, heights, width, label=label, color=color)
        axis.set_title(f"{model}, {context} tokens")
        axis.set_xticks(list(places), [str(row["batch"]) for row in rows])
        axis.set_xlabel("batch")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("ms for a decode step")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(
        f"{report['device']}, {report['streaming_bytes_per_second'] / 1e12:.2f} TB/s of reads"
    )
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("report", help="the JSON file of bench_decode.py")
    parser.add_argument("picture", help="the file to write: .svg, .png, .pdf")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    if not report["rows"]:
        sys.exit(f"{options.report}: no rows to draw")
    draw(report, options.picture)


if __name__ == "__main__":
    main()
