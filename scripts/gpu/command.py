"""What the scripts beside it have in common: words of their command lines, a call of the compiler, and
their end."""

import os
import subprocess
import sys
from pathlib import Path


def words(text):
    return text.split(",")


def integers(text):
    return [int(word) for word in words(text)]


def compile_program(etc, source, artifact, *options):
    """Compiles anew, so that the artifact is never another tree's; returns its path."""
    artifact = Path(artifact)
    artifact.parent.mkdir(parents=True, exist_ok=True)
    command = [etc, "compile", source, *options, "-o", artifact]
    subprocess.run([str(word) for word in command], check=True)
    return artifact


def run(main):
    """Ends the process with what `main` returns."""
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Tearing down a CUDA context whose kernel hangs would hang too.
    os._exit(code)
