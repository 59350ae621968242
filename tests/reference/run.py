#!/usr/bin/env python3
"""Runs an example on the host target and compares what it writes with its reference.

    run.py ETC NAME SIZE [--sms N] [--seed N] [--seeds N] [--variant WORD] [--tp N] [--strip-events]
           [--schedule WORD] [--prefetch CYCLES] [-- MORE ARGUMENTS OF `etc run`]

SIZE is the example's one size that matters: n, tokens or batch. Some references have a variant of
their inputs. With --tp, so many ranks share a model. With --seeds, one artifact for the host runs
with the inputs of so many seeds, where data decide what runs; so it does with --schedule, of that
schedule. With --strip-events, the example runs without its event clauses, on events that etc
derives. With --prefetch, it runs as the text of its kernels for a GPU, whose loaders prefetch. Exits 0
when everything agrees.
"""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import etc_run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "ir-examples"
PROGRAMS = {"mistral": "llama", "phi3": "llama"}  # where the program has another name
BY_HAND = "_by_hand"  # the same model, whose text says tiling and events itself
OWN_PROGRAMS = ("moe_route", "biased_experts", "odd_slots", "layer_norm")  # of tests/programs, no examples
GOLDEN_PROGRAMS = ("queue_of_data", "queue_updates")  # of tests/golden/run
NAMES = ("row_sum", "softmax", "norm_quantise", "cholesky", "mlp", "attention", "attention_by_length", "arcee", "qwen2", "qwen3", "llama", "mistral", "phi3", "gemma3",
         "moe_routing", "gemm", "gemm_chain", "moe_layer", "qwen3_moe", "all_reduce", "mlp_tp", "gemm_rs", "ag_gemm", "moe_ranks", "qwen3_by_hand",
         "llama_by_hand", *OWN_PROGRAMS, *GOLDEN_PROGRAMS)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("etc", help="the `etc` binary")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("size", type=int)
    parser.add_argument("--sms", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="from the seed on")
    parser.add_argument("--variant", help="which inputs, where the reference has variants")
    parser.add_argument("--tp", type=int, help="of a model, the number of ranks")
    parser.add_argument("--strip-events", action="store_true")
    parser.add_argument("--schedule", help="of an artifact that is compiled ahead")
    parser.add_argument("--prefetch", type=int, metavar="CYCLES", help="between two prefetches")
    words, more = sys.argv[1:], []
    if "--" in words:  # argparse itself takes what follows for positionals that are not there
        more = words[words.index("--") + 1 :]
        words = words[: words.index("--")]
    return parser.parse_args(words, argparse.Namespace(more=more))


def source(options, case, folder):
    """The example, or a copy of it as the options ask for, as the configuration has it: which
    parameters and branches a flat program has may follow from that."""
    is_program = options.name.endswith(BY_HAND) or options.name in OWN_PROGRAMS
    folder_of = ROOT / "tests/programs" if is_program else EXAMPLES
    if options.name in GOLDEN_PROGRAMS:
        folder_of = ROOT / "tests/golden/run"
    example = folder_of / f"{PROGRAMS.get(options.name, options.name)}.etir"
    copy = folder / example.name
    if options.strip_events:
        write_by(["opt", "--pass=strip-events"], options, case, example, copy)
        if re.search(r"(?<!%)\b(event|wait|notify)\b", re.sub(r"//.*", "", copy.read_text())):
            raise ValueError(f"{copy} still has an event")
        return copy
    if options.prefetch:
        write_by(["compile", "--stop-after=schedule"], options, case, example, copy)
        text, found = re.subn(
            r"(loader in_flight \d+ interval \d+( ahead \d+)?)( prefetch \d+)?;",
            rf"\1 prefetch {options.prefetch};",
            copy.read_text(),
        )
        if not found:
            raise ValueError(f"{copy} has no loader")
        copy.write_text(text)
        return copy
    return example


def write_by(command, options, case, example, copy):
    """What a command of etc makes of the example."""
    words = [options.etc, *command, str(example), "-o", str(copy), *case.options]
    if case.config:
        words += ["--config", case.config]
    subprocess.run(words, check=True)


def program(options, case, folder):
    """What is run: a source and its configuration, or what was compiled of them."""
    words = [str(source(options, case, folder)), *case.options]
    if case.config:
        words += ["--config", case.config]
    if options.seeds == 1 and not options.schedule:
        return words
    artifact = str(folder / "program.etca")
    command = [options.etc, "compile", *words, "--arch", "host", "--debug-checks", "--watchdog", "60"]
    if options.schedule:
        command += ["--schedule", options.schedule]
    subprocess.run([*command, "-o", artifact], check=True)
    return [artifact]


def make_case(options, seed):
    words = {"variant": options.variant, "tp": options.tp}
    words = {name: word for name, word in words.items() if word}
    return importlib.import_module(options.name.removesuffix(BY_HAND)).make(
        options.size, np.random.default_rng(seed), **words
    )


def run(options, case, words, folder):
    """Whether a run agrees with the reference."""
    words, files = etc_run.command(options.etc, words, case, folder)
    result = subprocess.run([*words, "--sms", str(options.sms), *options.more], check=False)
    if result.returncode != 0:
        print(f"`etc run` ended with {result.returncode}")
        return False
    outputs = {output: np.load(path) for output, path in files.items()}
    results = [expected.check(output, outputs[output]) for output, expected in case.expected.items()]
    for check in case.checks:
        results += check(outputs)
    for line, passed in results:
        print(("ok    " if passed else "FAILED"), line)
    return all(passed for _, passed in results)


def main():
    options = parse_arguments()
    case = make_case(options, options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = program(options, case, folder)
        agreed = run(options, case, words, folder)
        for seed in range(options.seed + 1, options.seed + options.seeds):
            agreed = run(options, make_case(options, seed), words, folder) and agreed
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
