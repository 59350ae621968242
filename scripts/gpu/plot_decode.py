#!/usr/bin/env python3
"""Draws the results of bench_decode.py: for each model and context a panel with the time of a step
over the batch, beside the floor. Needs matplotlib; the file's suffix chooses its format."""

import plots

SERIES = (
    ("torch_graph_ms", "PyTorch, CUDA graph", "#c44e52"),
    ("kernels_ms", "etc, separate kernels", "#dd8452"),
    ("static_ms", "etc, one kernel", "#4c72b0"),
    ("floor_ms", "floor: reading weights and cache", "#8c8c8c"),
)


def draw(report):
    groups = plots.grouped(report["rows"], lambda row: (row["model"], row["context"]))
    figure, axes = plots.figure_of(len(groups), max(5, 3.2 * len(groups)))
    for axis, ((model, context), rows) in zip(axes[0], groups.items()):
        places = range(len(rows))
        present = [series for series in SERIES if any(row.get(series[0]) for row in rows)]
        width = 0.8 / len(present)
        for number, (key, label, color) in enumerate(present):
            heights = [row.get(key) or 0 for row in rows]
            lefts = [place + (number - (len(present) - 1) / 2) * width for place in places]
            axis.bar(lefts, heights, width, label=label, color=color)
        batches = [str(row["batch"]) for row in rows]
        plots.finish_panel(axis, f"{model}, {context} tokens", "batch", batches)
    axes[0][0].set_ylabel("ms for a decode step")
    plots.add_legend(figure, axes[0][0], 2)
    figure.suptitle(
        f"{report['device']}, {report['streaming_bytes_per_second'] / 1e12:.2f} TB/s of reads"
    )
    return figure


if __name__ == "__main__":
    plots.run(__doc__, "bench_decode.py", draw)
