#!/usr/bin/env python3
"""The events of a graph of a thousand calls in a row are derived and proved in seconds.

    long_graph_test.py ETC
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = 1024
# Ten times what it takes; it took twice as long as this when each event had all looked at again.
MOST_SECONDS = 20
HEAD = """etir 1;
dim n in 1..64;
device @all(%x: f32[n, 16], %y: out f32[n, 16]) tasks (i: n) { for (k: 16) %y[i, k] = sum(j: n) %x[j, k]; }
graph @g(%b0: f32[n, 16], %y: out f32[n, 16]) {
"""


def main():
    source = HEAD
    for i in range(1, CALLS):
        source += f"  %b{i} = buffer f32[n, 16];\n"
    for i in range(CALLS - 1):
        source += f"  call @all(%b{i}, %b{i + 1});\n"
    source += f"  call @all(%b{CALLS - 1}, %y);\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "long.etir").write_text(source)
        run = subprocess.run(
            [Path(sys.argv[1]).resolve(), "check", "long.etir", "--remarks"],
            check=False, cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS,
        )
    events = run.stderr.count(": remark: `@all` notifies")
    if run.returncode != 0 or events != CALLS - 1 or "not proved" in run.stderr:
        sys.exit(f"etc ended with {run.returncode}, {events} events, and said {run.stderr[:1000]}")


if __name__ == "__main__":
    main()
