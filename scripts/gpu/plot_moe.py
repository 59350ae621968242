#!/usr/bin/env python3
"""Draws the results of bench_moe.py: for each routing a panel with the time of each way over that of one
static kernel, by the number of tokens. Needs matplotlib; the file's suffix chooses its format."""

import argparse
import json
import sys

SERIES = {
    "drain": ("drain", "#55a868"),
    "dynamic": ("push queue", "#8172b3"),
    "kernels": ("separate kernels", "#dd8452"),
    "torch_graph": ("PyTorch, CUDA graph", "#c44e52"),
}
MOST = 2.0  # what is slower by more goes out of the picture


def draw(report, path):
    from matplotlib import pyplot

    routings = {}
    for row in report["rows"]:
        routings.setdefault(row["routing"], []).append(row)
    figure, axes = pyplot.subplots(
        1, len(routings), figsize=(4 * len(routings), 3.6), squeeze=False, layout="constrained"
    )
    for axis, (routing, rows) in zip(axes[0], routings.items()):
        places = range(len(rows))
        axis.axhline(1, color="#4c72b0", label="one static kernel")
        for key, (label, color) in SERIES.items():
            if key in rows[0]["us"]:
                heights = [row["us"][key] / row["us"]["static"] for row in rows]
                axis.plot(places, heights, marker="o", markersize=4, label=label, color=color)
        axis.set_title(routing)
        axis.set_xticks(list(places), [str(row["tokens"]) for row in rows])
        axis.set_xlabel("tokens")
        axis.set_ylim(0.8, MOST)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("time over that of one static kernel")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("report", help="the JSON file of bench_moe.py")
    parser.add_argument("picture", help="the file to write: .svg, .png, .pdf")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    if not report["rows"]:
        sys.exit(f"{options.report}: no rows to draw")
    draw(report, options.picture)


if __name__ == "__main__":
    main()
