#!/usr/bin/env python3
"""Times vLLM with and without the plugin, all in one run: milliseconds per output token, engine included.

Each model has one engine, with random weights of the model's shape, greedy sampling, and vLLM's default
settings but for a cache in pages of 64 positions (HND). Its steps go three ways by turns: vLLM's own, the
program's launched call by call, and as the plugin does it, with graphs of steps that repeat. `program` is
the time on the GPU from a step's positions to its logits: the rest is the engine's own. Needs vLLM 0.25.1
in PYTHON, a GPU, and $ETCRT or libetcrt on the loader's path.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import command
import vllm_setup

NEW = 128  # tokens of each sequence
TURNS = 3
WAYS = ("vllm", "calls", "graphs")  # of vllm_switch.py
FIRST = 64  # of the tokens that prompts are made of


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_vllm", help="folder for artifacts")
    parser.add_argument("--artifacts", help="folder of artifacts MODEL.etca that are compiled already")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--models", type=command.words, default=["Qwen3-0.6B", "Llama-3.2-1B", "Qwen3-8B"])
    parser.add_argument("--batches", type=command.words, default=["1", "8", "32", "128"])
    parser.add_argument("--prompt", type=int, default=448, help="tokens of each prompt")
    parser.add_argument("--max-model-len", type=int,
                        help="positions of the engine's longest sequence [the prompt's and 512]")
    parser.add_argument("--layers", type=int, help="the first so many layers, where memory is short")
    parser.add_argument("--engine", help=argparse.SUPPRESS)  # a configuration: be one engine
    options = parser.parse_args()
    options.max_model_len = options.max_model_len or options.prompt + 4 * NEW
    return options


def run_engine(options, config, artifact, folder):
    """The results of each batch, from a process of its own. Ends where the plugin leaves the engine
    alone."""
    environment = vllm_setup.environment(artifact, folder)
    results = folder / "results.json"
    words = [sys.executable, "-B", __file__, "--engine", str(config), "--batches",
             ",".join(options.batches), "--prompt", str(options.prompt), "--max-model-len",
             str(options.max_model_len), "--json", str(results)]
    log = folder / "log.txt"
    with log.open("w") as output:
        done = subprocess.run(words, env=environment, stdout=output, stderr=subprocess.STDOUT)
    said = log.read_text(errors="replace")
    alone = vllm_setup.why_left_alone(said)
    if done.returncode or alone:
        sys.exit(f"{said}\n{alone or 'the engine failed: see above'}")
    return json.loads(results.read_text())


class Engine:
    """vLLM with a model of random weights, and the switch of its plugin."""

    def __init__(self, options):
        from vllm import LLM, SamplingParams

        self.prompt, self.sampling = options.prompt, SamplingParams
        self.switch = Path(os.environ["ETC_VLLM_SWITCH"])
        self.turn("vllm")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(Path(options.engine).read_text())
            self.llm = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True,
                           dtype="bfloat16", max_model_len=options.max_model_len,
                           max_num_seqs=max(map(int, options.batches)), block_size=64,
                           gpu_memory_utilization=0.85, enable_prefix_caching=False)

    def turn(self, way):
        self.switch.write_text(way)

    def run(self, batch, tokens):
        """The seconds of a batch, prompts included, and its tokens."""
        prompts = [{"prompt_token_ids": [(7 * i + 13 * j) % 30000 + FIRST
                                         for j in range(self.prompt)]} for i in range(batch)]
        sampling = self.sampling(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        start = time.perf_counter()
        outputs = self.llm.generate(prompts, sampling, use_tqdm=False)
        took = time.perf_counter() - start
        return took, [list(output.outputs[0].token_ids) for output in outputs]

    def measure(self, batch):
        """Milliseconds per token and tokens each way, and those of the program alone."""
        for way in WAYS:
            self.turn(way)
            self.run(batch, 8)
        first = min(self.run(batch, 1)[0] for _ in range(2))
        steps = self.switch.with_suffix(".ms")
        steps.unlink(missing_ok=True)
        runs = {way: [] for way in WAYS}
        for _ in range(TURNS):
            for way in WAYS:
                self.turn(way)
                runs[way].append(self.run(batch, 1 + NEW))
        program = sorted(map(float, steps.read_text().split()))
        ways = {way: {"ms": (min(took for took, _ in done) - first) / NEW * 1e3,
                      "tokens": done[0][1]} for way, done in runs.items()}
        return {"ways": ways, "program_ms": program[len(program) // 2]}


def engine(options):
    one = Engine(options)
    results = {batch: one.measure(int(batch)) for batch in options.batches}
    Path(options.json).write_text(json.dumps(results))
    try:
        one.llm.llm_engine.engine_core.shutdown()  # or its process keeps the GPU's memory
    finally:
        os._exit(0)


def same_share(a, b):
    """Of the sequences, how many tokens at their beginning are the same, as a share of all."""
    same = 0
    for one, other in zip(a, b):
        same += next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), len(one))
    return same / sum(len(one) for one in a)


def row_of(name, batch, result):
    ways = result["ways"]
    alone, taken = ways["vllm"], ways["graphs"]
    return {"model": name, "batch": int(batch), "vllm_ms": alone["ms"], "calls_ms": ways["calls"]["ms"],
            "plugin_ms": taken["ms"], "program_ms": result["program_ms"],
            "same_as_vllm": same_share(alone["tokens"], taken["tokens"]),
            "same_as_calls": same_share(ways["calls"]["tokens"], taken["tokens"])}


def main():
    options = parse_arguments()
    if options.engine:
        engine(options)
    results = []
    print(f"{'model':<16}{'batch':>6}{'vLLM ms':>10}{'calls ms':>10}{'plugin ms':>11}{'program':>9}"
          f"{'faster':>8}{'as vLLM':>9}{'as calls':>9}")
    for name in options.models:
        config = vllm_setup.first_layers(name, options.layers, options.out)
        artifact = vllm_setup.compiled(options, name, config)
        with tempfile.TemporaryDirectory() as folder:
            measured = run_engine(options, config, artifact, Path(folder))
        for batch in options.batches:
            row = row_of(name, batch, measured[batch])
            results.append(row)
            print(f"{name:<16}{batch:>6}{row['vllm_ms']:>10.3f}{row['calls_ms']:>10.3f}"
                  f"{row['plugin_ms']:>11.3f}{row['program_ms']:>9.3f}"
                  f"{row['vllm_ms'] / row['plugin_ms']:>8.2f}{row['same_as_vllm']:>9.1%}"
                  f"{row['same_as_calls']:>9.1%}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
