"""What the scripts that draw have in common: the command line, the look of a panel, and the legend."""

import argparse
import json
import sys


def grouped(rows, key):
    """The rows of each key, in the order of the report."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def figure_of(count, width):
    from matplotlib import pyplot

    return pyplot.subplots(1, count, figsize=(width, 3.6), squeeze=False, layout="constrained")


def finish_panel(axis, title, label, ticks):
    axis.set_title(title)
    axis.set_xticks(range(len(ticks)), ticks)
    axis.set_xlabel(label)
    axis.spines[["top", "right"]].set_visible(False)


def add_legend(figure, axis, columns):
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def run(description, source, draw):
    """`draw` makes the figure of a report that `source` wrote."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("report", help=f"the JSON file of {source}")
    parser.add_argument("picture", help="the file to write: .svg, .png, .pdf")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    if not report["rows"]:
        sys.exit(f"{options.report}: no rows to draw")
    draw(report).savefig(options.picture)
