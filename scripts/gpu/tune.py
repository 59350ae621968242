#!/usr/bin/env python3
"""Tunes decode steps, cell by cell, within a total time, and prints a table."""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import decode_model

SETUP = 15  # seconds of a cell that the search's own limit does not cover: its tensors, the last turns

# The cells where the formulas leave most time above the floor come first.
CELLS = (
    "Qwen3-0.6B:32 Qwen3-32B:128 Qwen3-0.6B:8 Qwen3-0.6B:1 Llama-3.2-1B:128 Qwen3-8B:128 "
    "Llama-3.2-1B:32 Qwen3-0.6B:128 Qwen3MoE-30B-A3B:1 Qwen3-32B:32 Llama-3.2-1B:8 Qwen3-8B:8 "
    "Qwen3-8B:32 Qwen3MoE-30B-A3B:128 Qwen3MoE-30B-A3B:8 Qwen3-32B:8 Qwen3MoE-30B-A3B:32 "
    "Qwen3-4B@8192:8 Qwen3-4B@8192:4 Llama-3.2-1B:1 Qwen3-4B@8192:2 Qwen3-4B@8192:1 Qwen3-8B:1 "
    "Qwen3-32B:1"
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--etc", required=True, help="the compiler")
    parser.add_argument("--out", type=Path, required=True, help="folder for what was found")
    parser.add_argument("--cells", default=CELLS, help="each MODEL:BATCH or MODEL@CONTEXT:BATCH, in order")
    parser.add_argument("--seconds", type=float, default=560, help="for all cells")
    parser.add_argument("--cell", type=float, default=25, help="seconds of the search of a cell")
    parser.add_argument("--launches", type=int, default=30)
    parser.add_argument("--device", choices=["host", "gpu"], default="gpu")
    parser.add_argument("--library", action="store_true",
                        help="begin with what is built into etc, in the place of the formulas")
    parser.add_argument("--target", default="h200", help="what the entries are for: the card's name")
    return parser.parse_args()


def command(options, cell, seconds):
    word, _, batch = cell.partition(":")
    name, _, context = word.partition("@")
    context, batch = int(context or 512), int(batch)
    pages = context // decode_model.PAGE_SIZE + 1
    line = [options.etc, "tune", decode_model.PROGRAMS[decode_model.read_config(name)["model_type"]]]
    line += ["--config", decode_model.config_file(name), "--device", options.device]
    line += ["--target", options.target]
    sizes = {"batch": batch, "max_pages": pages, "num_pages": pages * batch}
    for dim, size in sizes.items():
        line += ["--dim", f"{dim}={size}"]
    line += ["--value", f"pos={context}", "--launches", options.launches, "--time", seconds]
    line += [] if options.library else ["--no-library-tuning"]
    line += ["--near", 10, "--rounds", 2, "-o", options.out / file_of(cell)]
    return [str(part) for part in line]


def file_of(cell):
    return re.sub(r"\W+", "-", cell) + ".json"


def tune(options, cell, seconds):
    """The two times in milliseconds, or what went wrong."""
    with open(options.out / "log.txt", "a", encoding="utf-8") as log:
        log.write(f"== {cell}\n")
        log.flush()
        line = ["timeout", "-k", "5", str(seconds + SETUP), *command(options, cell, seconds)]
        run = subprocess.run(line, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
        log.write(run.stdout)
    found = re.search(r"([\d.]+) ms as it was, ([\d.]+) ms now", run.stdout)
    return (float(found[1]), float(found[2])) if found else f"exit code {run.returncode}"


def merge(options, cells):
    """Each cell's entries of ranges and shapes that differ; of the same, the first cell's."""
    entries = {}
    for cell in cells:
        path = options.out / file_of(cell)
        for entry in json.loads(path.read_text())["entries"] if path.exists() else []:
            key = json.dumps([entry[part] for part in ("target", "function", "shape", "range")])
            known = entries.setdefault(key, entry)
            known["choose"] = {**entry["choose"], **known["choose"]}
    lines = ",\n".join("    " + json.dumps(e, separators=(",", ":")) for e in entries.values())
    text = f'{{\n  "tuning": 1,\n  "entries": [\n{lines}\n  ]\n}}\n'
    (options.out / "tuning.json").write_text(text)
    return len(entries)


def main():
    options = parse_arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    cells = options.cells.split()
    print("cell                     untuned ms  tuned ms  ratio  seconds", flush=True)
    failed = 0
    for number, cell in enumerate(cells):
        start = time.monotonic()
        seconds = min(options.cell, end - start - SETUP)
        if seconds < 5:
            print(f"no time is left for {' '.join(cells[number:])}")
            break
        times = tune(options, cell, seconds)
        took = time.monotonic() - start
        if isinstance(times, str) or not all(times):
            failed += 1
            print(f"{cell:24} {times if isinstance(times, str) else 'nothing was measured'}  {took:.0f} s")
        else:
            before, after = times
            print(f"{cell:24} {before:10.4f} {after:9.4f} {after / before:6.3f} {took:8.0f}", flush=True)
        merge(options, cells)
    print(f"{merge(options, cells)} entries in {options.out / 'tuning.json'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
