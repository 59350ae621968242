#!/usr/bin/env python3
"""Steps with several new tokens of each sequence (-D several_tokens=true), on this machine's GPU: their
logits against transformers', and their times.

Prompts of several lengths go through in pieces, side by side, and the logits of every position are
compared with those of the same weights in float32. PyTorch's own bf16 run has an error too, and etc's
must not exceed it by more than a fifth. Then a piece of 128 tokens is timed behind several contexts,
and drafted tokens of some sequences beside as many sequences of one.
"""

import argparse
from pathlib import Path

import torch

import command
import decode_model
import etcrt
import hf_decoder
from timing import captured, interleaved_ms

ALLOWED_RATIO = 1.2
ROWS = 128  # of a launch


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/check_rows", help="folder for artifacts")
    parser.add_argument("--models", default="Qwen3-0.6B,Qwen3-8B")
    parser.add_argument("--prompts", type=command.integers, default=[1, 17, 63, 128, 300])
    parser.add_argument("--pieces", type=command.integers, default=[128, 40, 7], help="rows of a launch")
    parser.add_argument("--contexts", type=command.integers, default=[0, 512, 4096])
    return parser.parse_args()


def compiled(name, options):
    source = decode_model.PROGRAMS[decode_model.read_config(name)["model_type"]]
    artifact = Path(options.out) / f"{name.lower()}-rows.etca"
    words = ["--config", decode_model.config_file(name), "-D", "several_tokens=true", "--no-proofs"]
    return etcrt.Program(str(command.compile_program(options.etc, source, artifact, *words)))


class RowsDecoder:
    """Sequences with caches of their own. Pages of one sequence are in no order."""

    def __init__(self, program, weights, config, sequences, positions):
        self.runtime = etcrt.Runtime(program)
        self.page_table, pages = decode_model.shuffled_pages(sequences, positions, 0, "cuda")
        shape = decode_model.cache_shape(config, pages, decode_model.PAGE_SIZE)
        self.caches = [torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
        self.runtime.set_dim("max_pages", self.page_table.shape[1])
        self.runtime.set_dim("num_pages", pages)
        self.runtime.bind(k_cache=self.caches[0], v_cache=self.caches[1], **weights)
        self.vocabulary = program.constants()["vocab_size"]  # the logits behind it are padding

    def prepare(self, counts, positions, ids, sequences):
        """The tensors of a launch with `counts[i]` new tokens of `sequences[i]`, behind `positions[i]`."""
        rows = sum(counts)
        starts = [sum(counts[:i]) for i in range(len(counts) + 1)]
        self.runtime.set_dim("batch", rows)
        self.runtime.set_dim("extra", rows - len(counts))

        def integers(values):
            return torch.tensor(values, dtype=torch.int32, device="cuda")

        padded = torch.full(self.runtime.shape("logits"), float("nan"), device="cuda")
        self.logits = padded[:, : self.vocabulary]
        self.token = integers([-1] * rows)
        self.runtime.bind(
            ids=integers(ids),
            pos=integers(positions),
            row_start=integers(starts),
            page_table=self.page_table[sequences].contiguous(),
            logits=padded,
            token=self.token,
        )
        self.runtime.reserve()

    def launch(self):
        self.runtime.launch()


def run_prompts(decoder, prompts, rows):
    """The logits of all positions of all prompts, which go through in launches of up to `rows` rows."""
    done = [0] * len(prompts)
    logits = [[] for _ in prompts]
    while any(a < len(prompt) for a, prompt in zip(done, prompts)):
        live = [i for i, prompt in enumerate(prompts) if done[i] < len(prompt)]
        room, counts = rows - len(live), []
        for i in live:
            counts.append(1 + min(len(prompts[i]) - done[i] - 1, room))
            room -= counts[-1] - 1
        ids = [t for i, count in zip(live, counts) for t in prompts[i][done[i] : done[i] + count]]
        decoder.prepare(counts, [done[i] for i in live], ids, live)
        decoder.launch()
        for i, part in zip(live, decoder.logits.split(counts)):
            logits[i].append(part.clone())
        for i, count in zip(live, counts):
            done[i] += count
    return [torch.cat(parts) for parts in logits]


@torch.no_grad()
def all_logits(model, prompt):
    """Of every position, in float32."""
    ids = torch.tensor(prompt, device="cuda")[None]
    return model(input_ids=ids, use_cache=False).logits[0].float()


def check_prompts(name, program, weights, model, config, options):
    exact = hf_decoder.in_float32(model)
    lengths = options.prompts
    prompts = [torch.randint(0, config["vocab_size"], (n,)).tolist() for n in lengths]
    expected = [all_logits(exact, prompt) for prompt in prompts]
    rounded = [all_logits(model, prompt) for prompt in prompts]
    del exact
    torch.cuda.empty_cache()
    passed = True

    def error(actual, i):
        return ((actual[i] - expected[i]).norm() / expected[i].norm()).item()

    for rows in options.pieces:
        actual = run_prompts(
            RowsDecoder(program, weights, config, len(prompts), max(lengths)), prompts, rows
        )
        again = run_prompts(
            RowsDecoder(program, weights, config, len(prompts), max(lengths)), prompts, rows
        )
        for i, length in enumerate(lengths):
            ours, torchs = error(actual, i), error(rounded, i)
            same = torch.equal(actual[i], again[i])
            good = ours <= ALLOWED_RATIO * torchs and same
            passed = passed and good
            print(
                f"{name:12} pieces of {rows:3}, prompt of {length:4}: etc {ours:.3e} PyTorch {torchs:.3e}"
                f" ratio {ours / torchs:.3f} {'repeated' if same else 'NOT REPEATED'}"
                f" {'ok' if good else 'FAILED'}",
                flush=True,
            )
    return passed


def time_steps(name, program, weights, config, options):
    decoders = []  # a graph does not hold the tensors that its launches read

    def step(counts, context):
        decoder = RowsDecoder(program, weights, config, len(counts), context + max(counts))
        ids = torch.randint(0, config["vocab_size"], (sum(counts),)).tolist()
        decoder.prepare(counts, [context] * len(counts), ids, list(range(len(counts))))
        decoders.append(decoder)
        return captured(decoder.launch)

    cases = {f"1 x {ROWS} behind {context}": ([ROWS], context) for context in options.contexts}
    cases |= {
        f"{sequences} x {tokens} behind 512": ([tokens] * sequences, 512)
        for sequences, tokens in ((32, 1), (8, 4), (1, 1), (1, 4), (1, 8), (128, 1))
    }
    steps = {label: step(*case) for label, case in cases.items()}
    for label, (median, least, most) in interleaved_ms(steps).items():
        print(f"{name:12} {label:22} {median:8.3f} ms ({least:.3f} to {most:.3f})", flush=True)


def main():
    options = parse_arguments()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    passed = True
    for name in options.models.split(","):
        config = decode_model.read_config(name)
        program = compiled(name, options)
        model = hf_decoder.build(name, "cuda")
        weights = program.pack_all(decode_model.pad_vocabulary(hf_decoder.parameters(model)))
        passed = check_prompts(name, program, weights, model, config, options) and passed
        del model
        time_steps(name, program, weights, config, options)
    print("passed" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    command.run(main)
