#!/usr/bin/env python3
"""A signal that ends `etc run` or `etc compile` while the host compiler works ends the compiler, too, with all that it
has started, and leaves nothing in TMPDIR and no part of an output; nor does a compiler that crashes, or a reader that
has gone.

    interrupt_test.py ETC [address | thread]

The word says how ETC was built: the address sanitizer cannot start a program from a handler's second stack.
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
# A compiler that works itself, one that does so in a process of its own, and one that a signal does not end.
COMPILERS = (
    "echo $$ >{pids}\n: >started\nexec sleep 60\n",
    "sleep 60 &\necho $$ $! >{pids}\n: >started\nwait\n",
    "trap '' INT TERM HUP QUIT\nsleep 60 &\necho $$ $! >{pids}\n: >started\nwait\n",
)
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

    def start(self, etc, command, stdout=None):
        return subprocess.Popen(
            [etc, command[0], "a.etir", *command[1:]],
            cwd=self.folder,
            env=self.env,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def check(self, what, code, expected):
        left = [path.name for path in self.scratch.iterdir()]
        if code != expected or left or self.files() != self.before:
            sys.exit(f"{what}: etc ended with {code} and left {left} and {sorted(self.files())}")


def runs(number):
    """Whether a process is there that is not merely waited for by nobody."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def interrupted(etc, command, number, compiler):
    with tempfile.TemporaryDirectory() as folder:
        pids = Path(folder, "pids")
        # The last that the compiler writes: it must not write beside the signal.
        case = Case(folder, f"echo part >out.so\n{compiler.format(pids=pids)}")
        process = case.start(etc, command)
        deadline = time.monotonic() + 60
        while not list(case.scratch.rglob("started")):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the compiler was never started; etc exited with {process.poll()}")
            time.sleep(0.01)
        process.send_signal(number)
        code = process.wait(60)
        case.check(f"{command[0]}, {number.name}", code, -number)
        left = pids.read_text().split()
        deadline = time.monotonic() + 10  # what is killed still takes its time to end
        while left := [pid for pid in left if runs(pid)]:
            if time.monotonic() > deadline:
                sys.exit(f"{command[0]}, {number.name}: of the compiler's processes {left} still run")
            time.sleep(0.01)


def crashed(etc, command, number):
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder, f"echo part >out.so\nkill -{number.name[3:]} $$\n")
        code = case.start(etc, command).wait(60)
        case.check(f"{command[0]}, a compiler that ends by {number.name}", code, 4)


def unread(etc, command):
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder, f'exec {os.environ.get("CXX", "c++")} "$@"\n')
        reader, writer = os.pipe()
        process = case.start(etc, command, writer)
        os.close(writer)
        os.close(reader)
        case.check(f"{command[0]} into a pipe that nobody reads", process.wait(60), -signal.SIGPIPE)


def main():
    etc = str(Path(sys.argv[1]).resolve())
    for command in COMMANDS:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            for compiler in COMPILERS:
                interrupted(etc, command, number, compiler)
        for number in (signal.SIGSEGV, signal.SIGKILL):
            crashed(etc, command, number)
    if sys.argv[2:] != ["address"]:
        unread(etc, ("run",))


if __name__ == "__main__":
    main()
