#!/usr/bin/env python3
"""Draws the results of bench_moe.py: for each routing a panel with the time of each way over that of one
static kernel, by the number of tokens. Needs matplotlib; the file's suffix chooses its format."""

import plots

SERIES = {
    "drain": ("drain", "#55a868"),
    "dynamic": ("push queue", "#8172b3"),
    "kernels": ("separate kernels", "#dd8452"),
    "torch_graph": ("PyTorch, CUDA graph", "#c44e52"),
}
MOST = 2.0  # what is slower by more goes out of the picture


def draw(report):
    routings = plots.grouped(report["rows"], lambda row: row["routing"])
    figure, axes = plots.figure_of(len(routings), 4 * len(routings))
    for axis, (routing, rows) in zip(axes[0], routings.items()):
        axis.axhline(1, color="#4c72b0", label="one static kernel")
        for key, (label, color) in SERIES.items():
            if key in rows[0]["us"]:
                heights = [row["us"][key] / row["us"]["static"] for row in rows]
                axis.plot(range(len(rows)), heights, marker="o", markersize=4, label=label, color=color)
        plots.finish_panel(axis, routing, "tokens", [str(row["tokens"]) for row in rows])
        axis.set_ylim(0.8, MOST)
    axes[0][0].set_ylabel("time over that of one static kernel")
    plots.add_legend(figure, axes[0][0], 5)
    return figure


if __name__ == "__main__":
    plots.run(__doc__, "bench_moe.py", draw)
