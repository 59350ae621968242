#!/usr/bin/env python3
"""What `etc bench` prints on the host, but for the times: as a table and as JSON, for a source and for
artifacts; and that it leaves no temporary folder.

    bench_test.py ETC
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """etir 1;
dim n in 1..64;
device @gather(%ids: i32[n], %len: i32[1], %x: f32[64], %w: f32[n, 64], %y: out f32[n])
    tasks (i: n) {
  %y[i] = %x[%ids[i]] + sum(k: %len[0]) %w[i, k];
}
device @add(%y: f32[n], %z: inout f32[n]) tasks (i: n) {
  %z[i] = %z[i] + %y[i];
}
device @count(%rounds: inout i32[1]) tasks (one: 1) {
  %rounds[0] = %rounds[0] + 1;
}
graph @rows(%ids: i32[n] in 0..64 distinct, %len: i32[1] in 0..64, %x: f32[64],
            %w: f32[n, 64], %z: inout f32[n], %rounds: inout i32[1] in 0..2) {
  %y = buffer f32[n];
  call @gather(%ids, %len, %x, %w, %y);
  call @add(%y, %z);
  call @count(%rounds);
}
"""


class Bench:
    def __init__(self, etc, folder):
        self.etc, self.folder = os.path.abspath(etc), Path(folder)
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()
        (self.folder / "rows.etir").write_text(SOURCE)

    def run(self, *words, code=0):
        env = dict(os.environ, TMPDIR=str(self.scratch))
        result = subprocess.run(
            [self.etc, *words], cwd=self.folder, env=env, text=True, capture_output=True, timeout=120
        )
        assert result.returncode == code, (words, result)
        assert not list(self.scratch.iterdir()), f"{words} left a temporary folder"
        return result.stdout


def check_table(bench):
    words = "bench rows.etir --device host --dim n=64 --launches 3 --value len=16 --value rounds=0".split()
    lines = bench.run(*words).splitlines()
    assert lines[0] == "@rows on the host, n = 64; 3 launches of each, by turns", lines
    assert lines[1] == "0.0 MB to read", lines
    assert lines[2].split() == ["schedule", "median", "ms", "least", "greatest", "ratio", "outputs"]
    number = r" +\d+\.\d+"
    assert re.fullmatch(rf"static {number * 3} +1\.000", lines[3]), lines
    assert re.fullmatch(rf"kernels{number * 4}   equal in every bit", lines[4]), lines
    assert bench.run(*words, "-o", "/dev/stdout").splitlines()[:2] == lines[:2]


def check_json(bench):
    words = "bench rows.etir --device host --dim n=64 --format json -o out.json --schedules kernels"
    assert bench.run(*words.split(), "--launches", "2", "--value", "len=16", "--value", "rounds=0") == ""
    report = json.loads((bench.folder / "out.json").read_text())
    rows = report.pop("schedules")
    assert report == {
        "place": "the host",
        "target": "host",
        "graph": "rows",
        "dims": {"n": 64},
        "launches": 2,
        "bytes_read": 4 * (3 * 64 + 1 + 64 * 16),  # %ids, %x, %z, %rounds, 16 of each row of %w
    }, report
    assert [row["name"] for row in rows] == ["kernels"]
    (row,) = rows
    assert row["outputs"] == [{"name": "z", "finite": True, "not_finite": 0, "equal": True},
                              {"name": "rounds", "finite": True, "not_finite": 0, "equal": True}], row
    assert 0 < row["least_ms"] <= row["median_ms"] <= row["greatest_ms"] and row["ratio"] == 1, row


def check_artifacts(bench):
    for schedule, extension in (("static", "so"), ("kernels", "so"), ("kernels", "etca")):
        words = f"compile rows.etir --arch host --no-proofs --schedule {schedule}"
        bench.run(*words.split(), "-o", f"{schedule}.{extension}")
    words = "bench static.so kernels.json --dim n=64 --launches 2 --format json --value len=16"
    words = words.split()
    report = json.loads(bench.run(*words))
    assert "bytes_read" not in report
    assert [row["name"] for row in report["schedules"]] == ["static", "kernels"]
    report = json.loads(bench.run(*words, "--source", "rows.etir"))
    assert report["bytes_read"] == 4 * (3 * 64 + 1 + 64 * 16), report
    (bench.folder / "kernels.json").unlink()  # one file needs nothing beside it
    words = "bench static.so kernels.etca --dim n=64 --launches 2 --format json --value len=16"
    rows = json.loads(bench.run(*words.split()))["schedules"]
    assert [row["name"] for row in rows] == ["static", "kernels"], rows
    assert all(output["equal"] for output in rows[1]["outputs"]), rows
    # Names that files share do not tell rows apart.
    words = "bench kernels.so kernels.etca static.so --dim n=64 --launches 2 --format json --value len=16"
    bench.run(*"compile rows.etir --arch host --no-proofs --schedule kernels -o kernels.so".split())
    rows = json.loads(bench.run(*words.split()))["schedules"]
    assert [row["name"] for row in rows] == ["kernels.so", "kernels.etca", "static"], rows


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        check_table(bench)
        check_json(bench)
        check_artifacts(bench)
        bench.run("bench", "rows.etir", "--device", "host", code=2)  # compiled, but without sizes


if __name__ == "__main__":
    main()
