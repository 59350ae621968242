#!/usr/bin/env python3
"""Continues 16 prompts by 256 greedy tokens in each of the ways from a checkpoint to tokens: etc-generate,
a C program, Python, and vLLM with the plugin, and holds each token to transformers' in bf16.

The checkpoint has random weights of a model's shape, or is a folder given. For each token, transformers
says in bf16 and in float32 what follows what stands before it. Where a token is not the one that bf16
takes for the likeliest, the case is listed with the margin between the two logits in float32, which
must be within twice the largest error of bf16's logits at that place. Prints how many texts are the
same in every way. Needs a GPU, libetcrt, PyTorch with transformers, and vLLM 0.25.1 for the last way.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import command
import vllm_setup

TEXTS = [
    "The capital of France is", "Once upon a time", "A list of primes: 2, 3, 5,", "Water boils at",
    "Dear Sir or Madam,", "int main(void) {", "The three laws of motion say that", "Yesterday I",
    "Roses are red,", "In 1969, two men", "To bake bread you need", "The opposite of hot is",
    "def fibonacci(n):", "Photosynthesis is", "My favourite book is", "One, two, three,",
]
TOKENS = 256
PAGE = {"vllm": ("--array", "k_cache,v_cache"), "etc": ()}  # options of the programs


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default=os.environ.get("ETC", "etc"), help="the compiler")
    parser.add_argument("--model", default="Qwen3-0.6B", help="whose shape it is")
    parser.add_argument("--checkpoint", type=Path, help="a folder of the model, in the place of random weights")
    parser.add_argument("--artifacts", type=Path, help="a folder of MODEL.etca, and MODEL-vllm.etca with caches "
                        "as arrays, that are compiled already")
    parser.add_argument("--ways", type=command.words, default=["generate", "c", "vllm"],
                        help="those beside Python [generate,c,vllm]")
    parser.add_argument("--engine", help=argparse.SUPPRESS)  # a file of prompts: be vLLM's process
    parser.add_argument("--json", help=argparse.SUPPRESS)
    return parser.parse_args()


def random_texts():
    """Prompts of 1 to 76 tokens, whose words are the tokens' numbers."""
    return [" ".join(str((7919 * i + 104729 * j) % 100000 + 16) for j in range(1 + 5 * i)) for i in range(16)]


def endless(checkpoint, folder):
    """The checkpoint without a token that ends a text, since the number of texts in a step is part of
    what decides a near tie."""
    folder.mkdir(exist_ok=True)
    for file in checkpoint.iterdir():
        if checkpoint != folder and file.name not in ("config.json", "generation_config.json"):
            (folder / file.name).symlink_to(file.resolve())
    config = json.loads((checkpoint / "config.json").read_text())
    config["eos_token_id"] = None
    (folder / "config.json").write_text(json.dumps(config))


class Task:
    """Prompts, a checkpoint and the programs that serve it."""

    def __init__(self, options, folder):
        from tokenizers import Tokenizer

        self.folder = folder / "checkpoint"
        if options.checkpoint:
            endless(options.checkpoint, self.folder)
        else:
            vllm_setup.write_checkpoint(options.model, self.folder)
            endless(self.folder, self.folder)
        self.work = folder
        self.options = options
        self.texts = TEXTS if options.checkpoint else random_texts()
        self.config = json.loads((self.folder / "config.json").read_text())
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.prompts = [self.tokenizer.encode(text).ids for text in self.texts]

    def program(self, kind):
        name = self.options.model.lower() + ("-vllm" if kind == "vllm" else "")
        if self.options.artifacts:
            return self.options.artifacts / f"{name}.etca"
        artifact = self.work / f"{name}.etca"
        if not artifact.exists():
            page = vllm_setup.ROOT / "ir-examples" / f"{vllm_setup.PAGES[self.config['model_type']]}.etir"
            command.compile_program(self.options.etc, page, artifact, "--config",
                                    self.folder / "config.json", *PAGE[kind])
        return artifact


def by_python(task):
    from etcrt import Checkpoint, Program, Weights
    from etcrt.decoder import Decoder
    from etcrt.generate import generate

    program = Program(str(task.program("etc")))
    weights = Weights(program, Checkpoint(task.folder))
    decoder = Decoder(program, weights, task.config, len(task.prompts),
                      max(map(len, task.prompts)) + TOKENS)
    return generate(decoder, task.prompts, TOKENS, [], lambda i, token: None)


def by_generate(task):
    """The texts that etc-generate prints."""
    words = [sys.executable, "-B", "-m", "etcrt.generate", task.program("etc"), task.folder, *task.texts,
             "--max-tokens", TOKENS, "--quiet"]
    printed = subprocess.run([str(word) for word in words], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in printed.splitlines()]


def by_c(task):
    """The tokens of ir-examples/deploy/decode.c."""
    library = Path(os.environ["ETCRT"]).resolve()
    program = task.work / "decode"
    deploy = vllm_setup.ROOT / "ir-examples" / "deploy" / "decode.c"
    words = ["cc", "-O2", "-I", vllm_setup.ROOT / "include", deploy, "-o", program, library, "-lm",
             f"-Wl,-rpath,{library.parent}"]
    subprocess.run([str(word) for word in words], check=True)
    made = []
    for prompt in task.prompts:
        words = [program, task.program("etc"), task.folder, task.config["rope_theta"], TOKENS, *prompt]
        printed = subprocess.run([str(word) for word in words], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        made.append([int(line) for line in printed.split()])
    return made


def by_vllm(task):
    """The tokens of vLLM with the plugin, in a process of its own."""
    process = task.work / "process"
    environment = vllm_setup.environment(task.program("vllm"), process)
    (process / "prompts.json").write_text(json.dumps(task.prompts))
    words = [sys.executable, "-B", __file__, "--engine", process / "prompts.json", "--checkpoint",
             task.folder, "--json", process / "tokens.json"]
    done = subprocess.run([str(word) for word in words], env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    alone = vllm_setup.why_left_alone(done.stdout)
    if done.returncode or alone:
        sys.exit(f"{done.stdout[-6000:]}\n{alone or 'the engine failed: see above'}")
    return json.loads((process / "tokens.json").read_text())


def engine(options):
    from vllm import LLM, SamplingParams

    llm = LLM(model=str(options.checkpoint), skip_tokenizer_init=True, dtype="bfloat16",
              max_model_len=1024, max_num_seqs=16, block_size=64, gpu_memory_utilization=0.3)
    sampling = SamplingParams(temperature=0, max_tokens=TOKENS, ignore_eos=True, detokenize=False)
    prompts = [{"prompt_token_ids": prompt} for prompt in json.loads(Path(options.engine).read_text())]
    outputs = llm.generate(prompts, sampling, use_tqdm=False)
    Path(options.json).write_text(json.dumps([list(output.outputs[0].token_ids) for output in outputs]))
    try:
        llm.llm_engine.engine_core.shutdown()  # or its process keeps the GPU's memory
    finally:
        os._exit(0)


class Reference:
    """transformers, in bf16 and in float32."""

    def __init__(self, folder):
        import torch
        from transformers import AutoModelForCausalLM

        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        self.models = [AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).cuda().eval()
                       for dtype in (torch.bfloat16, torch.float32)]

    def cases(self, prompt, tokens):
        """The tokens that are not the likeliest in bf16: position, token, the likeliest, the margin of
        their logits in float32, and the largest error of bf16's logits there."""
        torch = self.torch
        with torch.inference_mode():
            ids = torch.tensor([prompt + tokens[:-1]], device="cuda")
            rough, exact = (model(ids).logits[0, len(prompt) - 1:].float() for model in self.models)
        chosen = torch.tensor(tokens, device="cuda")
        likeliest = rough.argmax(-1)
        places = torch.arange(len(tokens), device="cuda")
        margins = exact[places, likeliest] - exact[places, chosen]
        errors = (rough - exact).abs().amax(-1)
        return [(i, tokens[i], int(likeliest[i]), float(margins[i]), float(errors[i]))
                for i in (likeliest != chosen).nonzero().flatten().tolist()]


def same(a, b):
    return sum(one == other for one, other in zip(a, b, strict=True))


def main():
    options = parse_arguments()
    if options.engine:
        engine(options)
    with tempfile.TemporaryDirectory() as folder:
        task = Task(options, Path(folder))
        made = {"python": by_python(task)}
        for way, make in (("c", by_c), ("vllm", by_vllm)):
            if way in options.ways:
                made[way] = make(task)
        failed = 0
        if "generate" in options.ways:
            expected = [task.tokenizer.decode(tokens) for tokens in made["python"]]
            equal = same(by_generate(task), expected)
            print(f"{options.model}: etc-generate prints {equal} of {len(expected)} texts as Python's tokens")
            failed += equal != len(expected)
        reference = Reference(task.folder)
        for way, texts in made.items():
            cases = [(i, *case) for i, (prompt, tokens) in enumerate(zip(task.prompts, texts, strict=True))
                     for case in reference.cases(prompt, tokens)]
            far = [case for case in cases if case[4] > 2 * case[5]]
            count = sum(map(len, texts))
            print(f"{options.model}: {way}: {count} tokens, {same(texts, made['python'])} of {len(texts)} texts "
                  f"as Python's; {count - len(cases)} tokens are transformers', {len(far)} others too far")
            for text, place, token, likeliest, margin, error in cases:
                print(f"  text {text} place {place}: {token} for {likeliest}, margin {margin:+.4f}, bf16's "
                      f"largest error {error:.4f}")
            failed += bool(far) or count != TOKENS * len(texts)
    return 1 if failed else 0


if __name__ == "__main__":
    command.run(main)
