#!/usr/bin/env python3
"""What `etc sim` says of decode steps that were measured: each point within a tenth, all of them
within a twentieth in the mean, and docs/simulator.md has the table.

    errors_test.py ETC ROOT            the test
    errors_test.py ETC ROOT --table    prints the table for docs/simulator.md

What was measured is in docs/results.md, in its tables of one GPU.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 0.10
MOST_MEAN = 0.05
DENSE = {
    "Qwen3-0.6B": ("qwen3", "qwen3-0.6b"),
    "Llama-3.2-1B": ("llama", "llama-3.2-1b"),
    "Qwen3-8B": ("qwen3", "qwen3-8b"),
    "Qwen3-32B": ("qwen3", "qwen3-32b"),
}
EXPERTS = {"Qwen3-30B-A3B": ("qwen3_moe", "qwen3moe-30b-a3b")}
SCHEDULES = ("static", "kernels")
COLUMNS = "batch | floor | one kernel | of the floor | separate kernels |"
ROW = re.compile(r"([\w.\-]*) *\| (\d+) \| [\d.]+ \| ([\d.]+) \| \d+ % \| ([\d.]+) \|")


def rows(text, header):
    """Model, batch and both times of each row of the table under the line that starts so."""
    _, header_was_there, behind = text.partition(f"\n{header}")
    assert header_was_there, f"docs/results.md has no table `{header}`"
    for line in behind.split("\n")[2:]:
        if not line.startswith("|"):
            return
        # A table of one model has no column for it.
        yield ROW.match(line.removeprefix("| ") if "| model" in header else line).groups()


def measured(root):
    """Milliseconds by model, batch and schedule."""
    text = (root / "docs/results.md").read_text()
    points = {}
    for header, model in ((f"| model | {COLUMNS}", None), (f"| {COLUMNS}", *EXPERTS)):
        for name, batch, one, launches in rows(text, header):
            model = name or model
            points[model, int(batch), "static"] = float(one)
            points[model, int(batch), "kernels"] = float(launches)
    return points


def simulated(etc, root, points):
    """The same, as etc sim has them."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for model, (source, config) in {**DENSE, **EXPERTS}.items():
            for schedule in SCHEDULES:
                kernel = Path(folder) / f"{config}.{schedule}.etir"
                subprocess.run(
                    [etc, "compile", root / f"ir-examples/{source}.etir", "--config",
                     root / f"ir-examples/configs/{config}.json", "--schedule", schedule,
                     "--no-proofs", "--stop-after=schedule", "-o", kernel],
                    check=True,
                )
                for batch in sorted({b for m, b, s in points if m == model}):
                    command = [etc, "sim", kernel, "--json", f"--dim=batch={batch}",
                               "--dim=max_pages=9", f"--dim=num_pages={9 * batch}",
                               "--value=pos=512"]
                    if model in EXPERTS:
                        command.append("--routing=uniform")
                    out = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                    kernels = json.loads(out.stdout)["kernels"]
                    assert len(kernels) == 1, (model, batch, schedule)
                    found[model, batch, schedule] = kernels[0]["us"] / 1000
    return found


def table(points, found):
    """Rows of models, columns of batches: measured, simulated, and the error of it."""
    batches = sorted({batch for _, batch, _ in points})
    lines = ["| ms | " + " | ".join(f"batch {b}" if b == 1 else str(b) for b in batches) + " |",
             "|---" * (len(batches) + 1) + "|"]
    for schedule, what in zip(SCHEDULES, ("one kernel", "launches")):
        for model in {**DENSE, **EXPERTS}:
            cells = []
            for batch in batches:
                key = (model, batch, schedule)
                cells.append(
                    f"{points[key]:g}, {found[key]:.3g} ({100 * (found[key] / points[key] - 1):+.1f} %)"
                    if key in points else ""
                )
            lines.append(f"| {model}, {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    etc, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    points = measured(root)
    assert len(points) == 56, f"{len(points)} points were found in docs"
    found = simulated(etc, root, points)
    text = table(points, found)
    if sys.argv[3:] == ["--table"]:
        print(text)
        return 0
    wrong = []
    for what, models in (("dense", DENSE), ("experts", EXPERTS)):
        errors = {key: found[key] / ms - 1 for key, ms in points.items() if key[0] in models}
        mean = sum(abs(error) for error in errors.values()) / len(errors)
        if mean > MOST_MEAN:
            wrong.append(f"{what}: {100 * mean:.1f} % in the mean, more than {100 * MOST_MEAN:g}")
        wrong += [
            f"{model}, batch {batch}, {schedule}: {100 * error:+.1f} %"
            for (model, batch, schedule), error in errors.items()
            if abs(error) > MOST
        ]
    if text not in (root / "docs/simulator.md").read_text():
        wrong.append("the table of docs/simulator.md is another; --table prints this one:\n" + text)
    print("\n".join(wrong) or f"{len(points)} points")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
