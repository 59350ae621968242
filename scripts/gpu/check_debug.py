#!/usr/bin/env python3
"""Runs programs with debug checks over good and bad index tensors: a good one must run, and a bad
one must end with the message that names the tensor, the index and the values.

    check_debug.py [--etc ETC] [--arch sm_90a|host] [--folder FOLDER]

FOLDER keeps the artifacts, and those that are there already are used.
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


PROGRAMS = [
    ("lookup", "tests/gpu/debug_checks.etir", ["--schedule", "static"],
     {"batch": BATCH, "num_pages": PAGES}, lookup_cases),
    ("lookup_kernels", "tests/gpu/debug_checks.etir", ["--schedule", "kernels"],
     {"batch": BATCH, "num_pages": PAGES}, lookup_cases),
    ("qwen3", "ir-examples/qwen3.etir",
     ["-D", "num_hidden_layers=2", "-D", "vocab_size=4096", "-D", "intermediate_size=1024"],
     {"batch": 2, "max_pages": 4, "num_pages": 16}, model_cases),
]


def run(command):
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=120)


def compile_program(options, folder, name, source, flags):
    binary = folder / (name + (".so" if options.arch == "host" else ".cubin"))
    if not binary.exists():
        result = run([options.etc, "compile", source, "--arch", options.arch, "--debug-checks",
                      "--no-proofs", "-o", str(binary)] + flags)
        if result.returncode != 0:
            sys.exit(result.stderr)
    return binary


def check_case(options, folder, binary, dims, tensors, expected):
    command = [options.etc, "run", str(binary), "--debug-checks"]
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
    options = parser.parse_args()
    ok = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        for name, source, flags, dims, cases in PROGRAMS:
            binary = compile_program(options, folder, name, source, flags)
            for tensors, expected in cases():
                ok &= check_case(options, Path(scratch), binary, dims, tensors, expected)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
