#!/usr/bin/env python3
"""`etc tune` on the host: what it writes is read again, keeps what the file has, and is there after
Ctrl-C, too.

    tune_test.py ETC
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """etir 1;
dim batch in 1..16;
device @linear<B, N, K, rows: choose (4, 8, 16) = 8>(%x: f32[B, K], %w: f32[N, K], %y: out f32[B, N]) tasks (m: ceildiv(N, rows)) {
  for (b: B, r: rows) {
    if (m * rows + r < N) %y[b, m * rows + r] = sum(k: K) %x[b, k] * %w[m * rows + r, k];
  }
}
graph @g(%x: f32[batch, 64], %w: f32[48, 64], %v: f32[32, 48], %y: out f32[batch, 32]) specialise (batch: 1..2, 3..16) {
  %h = buffer f32[batch, 48];
  call @linear(%x, %w, %h);
  call @linear(%h, %v, %y);
}
"""
# The formula's option takes far longer than the other, so that there is an improvement. One output is
# infinite, as the logits of padding are, and one is not a number, for both options.
SLOW = """etir 1;
const work: choose (1, 1000000) = 1000000;
device @f(%x: f32[8], %y: out f32[8]) tasks (i: 8) {
  %y[i] = select(i == 3, log(0.0), select(i == 5, sqrt(-1.0), %x[i] + 0.0 * sum(k: work) %x[k % 8]));
}
graph @g(%x: f32[8], %y: out f32[8]) { call @f(%x, %y); }
"""
SCHEDULES = ("auto", "static", "kernels", "drain", "dynamic")
KEPT = {"target": "h200", "function": "gate_up", "shape": {}, "range": {}, "choose": {"rows": 4}}


def check_lost_folder(etc, folder):
    """Where the file cannot be written any more, one message says so, however many improvements there were."""
    source, out, compiler = Path(folder) / "slow.etir", Path(folder) / "lost" / "t.json", Path(folder) / "cxx"
    source.write_text(SLOW)
    out.parent.mkdir()
    compiler.write_text(f'#!/bin/sh\nrm -rf "{out.parent}"\nexec {os.environ.get("CXX", "c++")} "$@"\n')
    compiler.chmod(0o755)
    run = subprocess.run([etc, "tune", source, "--device", "host", "-o", out, "--launches", "3"],
                         capture_output=True, text=True, env=dict(os.environ, CXX=str(compiler)))
    assert run.returncode == 1 and run.stdout == "", run
    assert "1000000 -> 1, " in run.stderr and run.stderr.count("error: cannot write ") == 1, run.stderr


def main():
    etc = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        check_lost_folder(etc, folder)
        path, out = Path(folder) / "p.etir", Path(folder) / "tuning.json"
        path.write_text(PROGRAM)
        out.write_text(json.dumps({"tuning": 1, "entries": [KEPT]}))
        tune = [etc, "tune", path, "--device", "host", "--dim", "batch=2", "-o", out, "--near", "1000"]
        run = subprocess.run(tune + ["--launches", "3"], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert re.fullmatch(r"(taken back, as it took \d+\.\d+ ms in the end: )?\d+\.\d+ ms as it was, \d+\.\d+ ms now \(-?\d+\.\d % less\)\n", run.stdout), run.stdout
        steps = run.stderr.splitlines()
        assert len(steps) in (3, 6), run.stderr  # three coordinates, one or two rounds
        assert steps[0].startswith("[########................] 1 of 3  @linear rows, B = 1..2, K = 64, N = 48: "), steps[0]
        assert steps[2].startswith("[########################] 3 of 3  @g schedule, batch = 1..2: "), steps[2]
        entries = json.loads(out.read_text())["entries"]
        assert entries[0] == KEPT, entries
        for entry in entries[1:]:
            assert entry["target"] == "host", entry  # times of the host say nothing of a GPU
            if entry["function"] == "g":
                assert entry["range"] == {"batch": [1, 2]}, entry
                assert entry["choose"]["schedule"] in SCHEDULES, entry
                continue
            assert entry["function"] == "linear" and entry["range"] == {"B": [1, 2]}, entry
            assert entry["choose"]["rows"] in (4, 8, 16), entry  # 8 where a round takes back the one before
        check = subprocess.run([etc, "check", path, "--tuning", out], capture_output=True, text=True)
        assert check.returncode == 0, check.stderr

        # Three million launches do not fit into three seconds, and the limit holds among them, too.
        limited = subprocess.run(tune + ["--launches", "1000000", "--time", "3"], capture_output=True, text=True)
        assert limited.returncode == 0 and limited.stdout == "stopped: nothing was measured\n", limited

        early = subprocess.run(tune + ["--time", "0.001"], capture_output=True, text=True)
        assert early.returncode == 0 and early.stdout == "stopped: nothing was measured\n", early

        # The interrupt comes behind the first of three coordinates. The launches of the second take
        # seconds, so that it comes before their end on a busy machine, too.
        process = subprocess.Popen(tune + ["--launches", "50000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        assert process.returncode == 0 and stdout.startswith("stopped: "), (stdout, stderr)
        assert json.loads(out.read_text())["entries"][0] == KEPT
    print("ok")


if __name__ == "__main__":
    main()
