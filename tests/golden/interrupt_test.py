#!/usr/bin/env python3
"""A signal that ends `etc run` or `etc compile` while the host compiler works leaves nothing in TMPDIR and no part
of an output; nor does a compiler that crashes.

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
COMMANDS = (
    ("run",),
    ("compile", "--arch", "host", "-o", "out.so"),
    ("compile", "--arch", "host", "--save-temps", "-o", "out.etca"),
)


class Case:
    """A folder with a source, an artifact of before, and a compiler that is a shell script."""

    def __init__(self, folder, compiler):
        self.folder, self.scratch = Path(folder, "work"), Path(folder, "tmp")
        self.folder.mkdir()
        self.scratch.mkdir()
        Path(self.folder, "a.etir").write_text(SOURCE)
        Path(self.folder, "out.so").write_text("of before")
        self.before = self.files()
        script = Path(folder, "cxx")
        script.write_text("#!/bin/sh\n" + compiler)
        script.chmod(0o755)
        self.env = dict(os.environ, CXX=str(script), TMPDIR=str(self.scratch))

    def files(self):
        return {path.name: path.read_text() for path in self.folder.iterdir()}

    def start(self, etc, command):
        return subprocess.Popen(
            [etc, command[0], "a.etir", *command[1:]],
            cwd=self.folder,
            env=self.env,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def check(self, what, code, expected):
        left = [path.name for path in self.scratch.iterdir()]
        if code != expected or left or self.files() != self.before:
            sys.exit(f"{what}: etc ended with {code} and left {left} and {sorted(self.files())}")


def interrupted(etc, command, number):
    with tempfile.TemporaryDirectory() as folder:
        # The last that the compiler writes: it must not write beside the signal.
        case = Case(folder, "echo part >out.so\n: >started\nexec sleep 60\n")
        process = case.start(etc, command)
        deadline = time.monotonic() + 60
        while not list(case.scratch.rglob("started")):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the compiler was never started; etc exited with {process.poll()}")
            time.sleep(0.01)
        process.send_signal(number)
        code = process.wait(60)
        case.check(f"{command[0]}, {number.name}", code, -number)
        os.killpg(process.pid, signal.SIGKILL)  # the compiler


def crashed(etc, command, number):
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder, f"echo part >out.so\nkill -{number.name[3:]} $$\n")
        code = case.start(etc, command).wait(60)
        case.check(f"{command[0]}, a compiler that ends by {number.name}", code, 4)


def main():
    etc = str(Path(sys.argv[1]).resolve())
    for command in COMMANDS:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            interrupted(etc, command, number)
        for number in (signal.SIGSEGV, signal.SIGKILL):
            crashed(etc, command, number)


if __name__ == "__main__":
    main()
