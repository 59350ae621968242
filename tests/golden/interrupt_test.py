#!/usr/bin/env python3
"""A signal that ends `etc run` while the host compiler works leaves nothing in TMPDIR.

    interrupt_test.py ETC
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = """etir 1;
device @one(%y: out i32[4]) tasks (i: 4) { %y[i] = 1; }
graph @ones(%y: out i32[4]) { call @one(%y); }
"""


def interrupted(etc, number):
    with tempfile.TemporaryDirectory() as folder:
        source, compiler, scratch = (Path(folder) / name for name in ("a.etir", "cxx", "tmp"))
        source.write_text(SOURCE)
        compiler.write_text("#!/bin/sh\n: >started\nexec sleep 60\n")
        compiler.chmod(0o755)
        scratch.mkdir()
        env = dict(os.environ, CXX=str(compiler), TMPDIR=str(scratch))
        process = subprocess.Popen(
            [etc, "run", source], env=env, stderr=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + 30
        while not list(scratch.rglob("started")):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the compiler was never started; etc exited with {process.poll()}")
            time.sleep(0.01)
        process.send_signal(number)
        code = process.wait(30)
        left = list(scratch.iterdir())
        os.killpg(process.pid, signal.SIGKILL)  # the compiler
    if code != -number or left:
        sys.exit(f"{number.name}: etc ended with {code} and left {left}")


for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    interrupted(sys.argv[1], each)
