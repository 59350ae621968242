#!/usr/bin/env python3
"""Runs programs with debug checks over good and bad index tensors: a good one must run, and a bad
one must end with the message that names the tensor, the index and the values.

    check_debug.py [--etc ETC] [--arch sm_90a|host] [--folder FOLDER] [--devices 0,1] [--only NAME]
                   [--compiler WORDS]

FOLDER keeps the artifacts, and those that are there already are used. The two ranks of the program with a
mesh share device 0, or have --devices.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

BATCH, PAGES = 64, 4096
LOOKUP = {
    "pos": [(b * 37) % 256 for b in range(BATCH)],
    "table": [(i * 2731 + 5) % PAGES for i in range(BATCH * 4)],
    "hops": [0] * BATCH,
    "rows": [b * 3 for b in range(BATCH + 1)],
}
LOOKUP["hops"][9] = 1 if LOOKUP["table"][9 * 4 + LOOKUP["pos"][9] // 64] < PAGES - 1 else -1
MODEL = {
    "ids": [7, 4095],
    "pos": [100, 255],
    "page_table": [3, 9, 0, 15, 8, 1, 12, 4],
}
ROWS = 50
# Rows go to the place of their number at rank 1. Behind those of rank 0 stand those of rank 1: whom each
# row notifies, the other rank, and which element, that of its number.
OVER_RANKS = {
    "place": list(range(ROWS)),
    "to": [1] * ROWS,
    "turn": [1] * (2 * ROWS),
    "hop": [0] * (2 * ROWS),
    "ids": [r * 7 % ROWS for r in range(2 * ROWS)],
}


def changed(tensors, name, index, value):
    copy = {key: list(values) for key, values in tensors.items()}
    copy[name][index] = value
    return copy


def lookup_cases():
    slot = LOOKUP["table"][20 * 4 + LOOKUP["pos"][20] // 64]
    yield LOOKUP, None
    yield (changed(LOOKUP, "table", 3 * 4 + 2, PAGES),
           f"parameter %table: [3, 2] is {PAGES}, outside of 0..{PAGES}")
    yield (changed(LOOKUP, "table", 63 * 4 + 3, LOOKUP["table"][5]),
           f"parameter %table: [63, 3] is {LOOKUP['table'][5]}, like [1, 1], but must be distinct")
    yield (changed(LOOKUP, "pos", 40, -1), "parameter %pos: [40] is -1, outside of 0..256")
    yield (changed(LOOKUP, "rows", 30, 10),
           "parameter %rows: [30] is 10, less than the 87 before it, but must be monotone")
    yield (changed(LOOKUP, "hops", 20, 5000),
           f"@read, task [20]: index 0 of %pages is {slot + 5000}, outside of 0..{PAGES}")


def model_cases():
    yield MODEL, None
    yield (changed(MODEL, "page_table", 6, 16),
           "parameter %page_table: [1, 2] is 16, outside of 0..16")
    yield (changed(MODEL, "page_table", 6, 0),
           "parameter %page_table: [1, 2] is 0, like [0, 2], but must be distinct")
    yield changed(MODEL, "ids", 1, 4096), "parameter %ids: [1] is 4096, outside of 0..4096"


def rank_cases():
    yield OVER_RANKS, None
    yield (changed(OVER_RANKS, "place", 33, ROWS),
           f"rank 0: @send, task [33]: index 1 of %slots at rank 1 is {ROWS}, outside of 0..{ROWS}")
    yield (changed(OVER_RANKS, "to", 7, -1), "rank 0: @send, task [7]: the rank of %slots is -1, outside of 0..2")
    # Of rank 1 alone: rank 0 waits in vain for what is left out.
    yield (changed(OVER_RANKS, "hop", ROWS + 4, 60),
           f"rank 1: index 0 of event %here at rank 0 is 64, outside of 0..{ROWS}")
    yield (changed(OVER_RANKS, "turn", ROWS + 4, 2), "rank 1: the rank of event %here is 2, outside of 0..2")
    # Rank 1 begins no task, and rank 0 waits for it in vain.
    yield (changed(OVER_RANKS, "ids", ROWS + 20, 99),
           f"rank 1: parameter %ids: [0, 20] is 99, outside of 0..{ROWS}")


PROGRAMS = [
    ("lookup", "tests/gpu/debug_checks.etir", ["--schedule", "static"],
     {"batch": BATCH, "num_pages": PAGES}, lookup_cases),
    ("lookup_kernels", "tests/gpu/debug_checks.etir", ["--schedule", "kernels"],
     {"batch": BATCH, "num_pages": PAGES}, lookup_cases),
    ("qwen3", "ir-examples/qwen3.etir",
     ["-D", "num_hidden_layers=2", "-D", "vocab_size=4096", "-D", "intermediate_size=1024"],
     {"batch": 2, "max_pages": 4, "num_pages": 16}, model_cases),
    ("over_ranks", "tests/gpu/debug_checks_of_ranks.etir", ["--watchdog", "2"], {"n": ROWS}, rank_cases),
]


def run(command):
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=120)


def compile_program(options, folder, name, source, flags):
    binary = folder / (name + (".so" if options.arch == "host" else ".cubin"))
    if not binary.exists():
        result = run([options.etc, "compile", source, "--arch", options.arch, "--debug-checks",
                      "--no-proofs", "-o", str(binary)] + flags + options.compiler.split())
        if result.returncode != 0:
            sys.exit(result.stderr)
    return binary


def check_case(options, folder, binary, dims, tensors, expected):
    command = [options.etc, "run", str(binary), "--debug-checks"]
    if binary.stem == "over_ranks":
        command += ["--sms", "3"] + (["--devices", options.devices] if options.arch != "host" else [])
    for name, value in dims.items():
        command += ["--dim", f"{name}={value}"]
    for name, values in tensors.items():
        file = folder / f"{name}.bin"
        file.write_bytes(struct.pack(f"<{len(values)}i", *values))
        command += ["--input", f"{name}={file}"]
    result = run(command)
    ok = (result.returncode == 0 if expected is None else
          result.returncode == 1 and f"error: {expected} [data]" in result.stderr)
    print(f"{'ok    ' if ok else 'FAILED'} {binary.stem}: {expected or 'runs'}")
    if not ok:
        print(f"exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--etc", default=os.environ.get("ETC", "build/release/src/driver/etc"))
    parser.add_argument("--arch", default="sm_90a", choices=["sm_90a", "host"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--devices", default="0,0", help="of the two ranks")
    parser.add_argument("--only", choices=[name for name, *_ in PROGRAMS])
    parser.add_argument("--compiler", default="", help="words for etc, such as `--compiler nvcc`")
    options = parser.parse_args()
    ok = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        for name, source, flags, dims, cases in PROGRAMS:
            if options.only not in (None, name):
                continue
            binary = compile_program(options, folder, name, source, flags)
            for tensors, expected in cases():
                ok &= check_case(options, Path(scratch), binary, dims, tensors, expected)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
