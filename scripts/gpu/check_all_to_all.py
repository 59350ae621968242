#!/usr/bin/env python3
"""Both ways of the all-to-all of moe_ranks.etir on the same inputs: each against the float64 reference, and
their bytes against each other.

A task of up to 64 weight rows splits k between the two warpgroups, and one of 128 rows does not. So the ways
give equal bytes where their tasks have as many rows, and else must agree with the reference alone.

    check_all_to_all.py [--tokens N,N..] [--variants WORD,WORD..] [-- OPTIONS of `etc run`]

The variants are those of tests/reference/moe_ranks.py without the way. $ETC is the compiler. On two GPUs:
check_all_to_all.py -- --device gpu --sms 132
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))

import command  # noqa: E402
import etc_run  # noqa: E402
import moe_ranks  # noqa: E402
from tensors import from_bf16  # noqa: E402

LARGEST = (32, 128, 512, 2048)  # of the ranges of `tokens` that the example is specialised for
WAYS = {"together": "+together", "rank by rank": ""}
LIMIT = 600  # seconds for one run of etc


def parse_arguments():
    words, more = sys.argv[1:], []
    if "--" in words:
        more = words[words.index("--") + 1:]
        words = words[:words.index("--")]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tokens", type=command.integers, default=[33, 128, 300, 512])
    parser.add_argument("--variants", default="2,2+many", type=lambda text: text.split(","))
    return parser.parse_args(words, argparse.Namespace(more=more))


def splits_sums(experts, rows):
    """Whether tasks split sums over k for so many rows at once: those of places of up to 32 slots, by
    `slots_for` and `listed_rows` of moe_lists.etir."""
    top = moe_ranks.CONFIG["num_experts_per_tok"]
    return 8 * -(-rows * top // experts) <= 32


def are_alike(case, tokens, ranks):
    """Whether tasks of both ways split sums, or those of neither, at the largest size of the range."""
    most = next(size for size in LARGEST if tokens <= size)
    experts = len(case.inputs["router"])
    return splits_sums(experts, most) == splits_sums(experts, most * ranks)


def output_of(case, more):
    """What etc writes for a case."""
    program = [str(ROOT / "ir-examples" / "moe_ranks.etir"), *case.options]
    with tempfile.TemporaryDirectory() as name:
        words, files = etc_run.command(os.environ["ETC"], program, case, Path(name))
        subprocess.run([*words, *more], check=True, timeout=LIMIT)
        return np.load(files["out"])


def check(tokens, variant, more):
    passed, outputs = True, []
    for way, suffix in WAYS.items():
        case = moe_ranks.make(tokens, np.random.default_rng(0), variant + suffix)
        outputs.append(output_of(case, more))
        line, right = case.expected["out"].check("out", outputs[-1])
        print(f"{'ok    ' if right else 'FAILED'} {tokens} of {variant}, {way}: {line}", flush=True)
        passed &= right
    differ = int(np.count_nonzero(outputs[0] != outputs[1]))
    apart = np.abs(from_bf16(outputs[0]) - from_bf16(outputs[1])).max()
    alike = are_alike(case, tokens, int(variant.partition("+")[0]))
    right = differ == 0 or not alike
    print(f"{'ok    ' if right else 'FAILED'} {tokens} of {variant}: {differ} of {outputs[0].size} elements differ, by "
          f"{apart:.2g} at most; {'all' if alike else 'not all'} sums are split alike", flush=True)
    return passed and right


def main():
    options = parse_arguments()
    results = [check(tokens, variant, options.more) for variant in options.variants for tokens in options.tokens]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
