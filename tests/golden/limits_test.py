#!/usr/bin/env python3
"""etc says so where memory or a file may not grow, and leaves nothing behind.

    limits_test.py ETC
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LARGE = """etir 1;
dim n in 1..64;
device @ones(%y: out f32[n * 1000000000]) tasks (i: n) { for (k: 1000000000) %y[i * 1000000000 + k] = 1.0; }
graph @g(%y: out f32[n * 1000000000]) { call @ones(%y); }
"""
SUMS = """etir 1;
device @f(%x: f32[4], %y: out f32[4]) tasks (i: 4) { %y[i] = sum(k: 4) %x[k]; }
graph @g(%x: f32[4], %y: out f32[4]) {
  %h = buffer f32[4];
  call @f(%x, %h);
  call @f(%h, %y);
}
"""
MESSAGES = (
    (resource.RLIMIT_AS, 64 << 30, ("run", "a.etir", "--dim", "n=64"), None,
     5, "device", "the tensors do not fit in the memory of this machine"),
    (resource.RLIMIT_AS, 1 << 29, ("check", "-"), "/dev/zero",
     5, "device", "the memory of this machine does not suffice"),
    (resource.RLIMIT_FSIZE, 16, ("opt", "a.etir", "-o", "out.etir"), None,
     1, "file", "cannot write `out.etir`: File too large"),
    (resource.RLIMIT_FSIZE, 16, ("compile", "a.etir", "--arch", "host"), None,
     1, "file", r"cannot write `.*/etc-\w+/etc\.cpp`: File too large"),
    (resource.RLIMIT_FSIZE, 16, ("check", "--fix", "race.etir"), None,
     1, "file", "cannot write `race.etir`: File too large"),
)
RACE = """etir 1;
device @f(%x: f32[4], %y: out f32[4]) tasks (i: 4) { %y[i] = %x[3 - i]; }
graph @g(%x: f32[4], %y: out f32[4]) {
  %h = buffer f32[4];
  event %done[4] count 1;
  call @f(%x, %h) notify (i) => %done[i];
  call @f(%h, %y);
}
"""


def check_closed_output(etc):
    """A file that etc opens must not become its standard output."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.etir").write_text(LARGE)
        run = subprocess.run(
            ["sh", "-c", '"$0" opt a.etir >&-', etc], check=False, cwd=folder, capture_output=True, text=True
        )
        if run.returncode != 1 or "cannot write `<stdout>`: Bad file descriptor [file]" not in run.stderr:
            sys.exit(f"with a closed output etc ended with {run.returncode} and said {run.stderr}")


def check_without_threads(etc):
    """Where the system gives no thread, all is done on one, and a launch that needs several says so."""
    none = "#include <errno.h>\nint pthread_create(void) { return EAGAIN; }\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.etir").write_text(SUMS)
        Path(folder, "none.c").write_text(none)
        subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-shared", "-fPIC", "none.c", "-o", "none.so"], cwd=folder, check=True)
        for words, code, said in ((["check"], 0, ""), (["compile", "--stop-after", "emit", "-o", "a.cu"], 0, ""), (["sim"], 0, ""),
                                  (["run", "--sms", "1"], 0, ""), (["run", "--sms", "3"], 5, "cannot start 3 threads")):
            run = subprocess.run([etc, words[0], "a.etir", *words[1:]], check=False, cwd=folder, capture_output=True, text=True,
                                 env={**os.environ, "LD_PRELOAD": f"{folder}/none.so"})
            if run.returncode != code or said not in run.stderr:
                sys.exit(f"without threads `{words}` ended with {run.returncode} and said {run.stderr}")


def main():
    etc = str(Path(sys.argv[1]).resolve())
    check_closed_output(etc)
    check_without_threads(etc)
    for limit, value, command, stdin, code, kind, message in MESSAGES:
        with tempfile.TemporaryDirectory() as folder, open(stdin or os.devnull, "rb") as source:
            Path(folder, "a.etir").write_text(LARGE)
            Path(folder, "race.etir").write_text(RACE)
            run = subprocess.run(
                [etc, *command, "--diagnostics-format=json"],
                check=False,
                cwd=folder,
                stdin=source,
                capture_output=True,
                preexec_fn=lambda limit=limit, value=value: resource.setrlimit(limit, (value, value)),
            )
            said = json.loads(run.stderr) if run.returncode == code else run.stderr
            left = sorted(path.name for path in Path(folder).iterdir())
            fits = (run.returncode == code and len(said) == 1 and said[0]["kind"] == kind
                    and re.fullmatch(message, said[0]["message"]))
            if not fits or left != ["a.etir", "race.etir"] or Path(folder, "race.etir").read_text() != RACE:
                sys.exit(f"{command}: etc ended with {run.returncode}, said {said} and left {left}")


if __name__ == "__main__":
    main()
