"""From a folder with a checkpoint to text: `etc-generate model.etca FOLDER "prompt"`.

The program is a decode step of the library's models (ir-examples/qwen3.etir and the like), compiled
with the folder's config.json. Prompts go through it token by token, or where the program takes
several new tokens of a sequence, in pieces as large as it takes. Each new token is the one with the
largest logit.
"""

import argparse
import json
import math
import struct
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from ._library import Error
from .memory import Buffer, product
from .program import Program
from .runtime import Runtime
from .weights import Checkpoint, Weights

_ELEMENT_BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2}


def _llama3_scaled(frequencies: List[float], scaling: Dict[str, Any]) -> List[float]:
    """Llama 3.1's scaling: long waves are slowed down, short ones stay, and between them it is a mixture."""
    factor = scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    context = scaling["original_max_position_embeddings"]
    scaled = []
    for frequency in frequencies:
        turns = context * frequency / (2 * math.pi)
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        scaled.append(frequency * (share + (1 - share) / factor))
    return scaled


def _frequencies(dim: int, theta: float, scaling: Optional[Dict[str, Any]]) -> List[float]:
    frequencies = [theta ** (-2 * i / dim) for i in range(dim // 2)]
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    if kind == "default":
        return frequencies
    if kind == "linear":
        return [frequency / scaling["factor"] for frequency in frequencies]
    if kind == "llama3":
        return _llama3_scaled(frequencies, scaling)
    raise ValueError(f"config.json: rope scaling of the type `{kind}` is not known")


def rotary_frequencies(config: Dict[str, Any]) -> List[float]:
    """The values of %inv_freq: of a model with two kinds of layers first the local, then the global."""
    dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    parameters = config.get("rope_parameters") or {}
    if "full_attention" in parameters:  # by the kind of a layer
        local, whole = parameters["sliding_attention"], parameters["full_attention"]
        return (_frequencies(dim, local["rope_theta"], local)
                + _frequencies(dim, whole["rope_theta"], whole))
    theta = config.get("rope_theta", parameters.get("rope_theta", 10000.0))
    scaling = config.get("rope_scaling") or parameters or None
    if "rope_local_base_freq" in config:
        return (_frequencies(dim, config["rope_local_base_freq"], None)
                + _frequencies(dim, theta, scaling))
    return _frequencies(dim, theta, scaling)


def end_tokens(folder: Path, config: Dict[str, Any]) -> List[int]:
    """The tokens that end a text."""
    file = folder / "generation_config.json"
    settings = json.loads(file.read_text()) if file.exists() else {}
    ends = settings.get("eos_token_id", config.get("eos_token_id"))
    if ends is None:
        return []
    return list(ends) if isinstance(ends, list) else [ends]


class Piece(NamedTuple):
    """New tokens of a sequence, the first of them at `position`."""

    sequence: int
    position: int
    tokens: Sequence[int]


class Decoder:
    """Sequences with caches for so many positions each. `several` says whether a step takes several
    new tokens of a sequence, and `most_rows` how many of all sequences."""

    def __init__(self, program: Program, weights: Weights, config: Dict[str, Any], batch: int,
                 positions: int, sms: int = 0):
        self._run = Runtime(program)
        self._on_device = program.target() != "host"
        self._buffers: Dict[str, Buffer] = {}
        self._params = program.params()
        self._sequences: Sequence[int] = ()  # whose pages the page table has
        dims = program.dims()
        self.several = "row_start" in self._params
        self.most_rows = dims["batch"][1] if self.several else batch
        if batch > dims["batch"][1]:
            raise ValueError(f"{batch} sequences are more than the program's {dims['batch'][1]}")
        page = int(self._params["k_cache"].extents[3])
        self._pages = -(-positions // page)
        limit = dims["max_pages"][1]
        if self._pages > limit:
            raise ValueError(f"{positions} positions are more than the program's {limit * page}")
        self._run.set_dim("max_pages", self._pages)
        self._run.set_dim("num_pages", batch * self._pages)
        self._run.set_sms(sms)
        self._run.bind_weights(weights)
        self._set_sizes(self.most_rows, batch)
        inputs = ["ids", "pos", "page_table", *(["row_start"] if self.several else [])]
        self._of_step = [*inputs, "logits", "token"]
        for name in (*self._of_step, "inv_freq", "k_cache", "v_cache"):
            size = product(self._run.shape(name)) * _ELEMENT_BYTES[self._params[name].dtype]
            self._buffers[name] = Buffer(size, self._on_device)
            self._bind(name)
        frequencies = rotary_frequencies(config)
        self._buffers["inv_freq"].write(struct.pack(f"{len(frequencies)}f", *frequencies))
        for name in ("k_cache", "v_cache"):
            self._buffers[name].fill(0)
        self._run.reserve()

    def _set_sizes(self, rows: int, sequences: int) -> None:
        self._run.set_dim("batch", rows)
        if self.several:
            self._run.set_dim("extra", rows - sequences)

    def _bind(self, name: str) -> None:
        self._run.bind_pointer(name, self._buffers[name].address, self._params[name].dtype,
                               self._run.shape(name))

    def _write(self, name: str, values: Sequence[int]) -> None:
        self._buffers[name].write(struct.pack(f"{len(values)}i", *values))

    def step(self, pieces: Sequence[Piece]) -> List[int]:
        """The next token behind each piece; no two are of one sequence."""
        starts = [0]
        for piece in pieces:
            starts.append(starts[-1] + len(piece.tokens))
        self._set_sizes(starts[-1], len(pieces))
        for name in self._of_step:
            self._bind(name)
        self._write("ids", [token for piece in pieces for token in piece.tokens])
        self._write("pos", [piece.position for piece in pieces])
        if self.several:
            self._write("row_start", starts)
        sequences = [piece.sequence for piece in pieces]
        if sequences != self._sequences:
            self._write("page_table", [sequence * self._pages + page for sequence in sequences
                                       for page in range(self._pages)])
            self._sequences = sequences
        self._run.launch(0)
        self._run.check(0)
        tokens = struct.unpack(f"{starts[-1]}i", self._buffers["token"].read(4 * starts[-1]))
        return [tokens[end - 1] for end in starts[1:]]


def _counts(waiting: Sequence[int], most_rows: int, several: bool) -> List[int]:
    """How many tokens go into a step, of sequences with so many each: one at least, and what is left
    to the first."""
    room = most_rows - len(waiting) if several else 0
    counts = []
    for tokens in waiting:
        counts.append(1 + min(tokens - 1, room))
        room -= counts[-1] - 1
    return counts


def generate(decoder: Decoder, prompts: Sequence[Sequence[int]], max_tokens: int,
             ends: Sequence[int], on_token: Callable[[int, int], None]) -> List[List[int]]:
    """The new tokens of each prompt, up to `max_tokens` and without what ends a text. `on_token` gets
    the number of a prompt and its next token as it comes."""
    made: List[List[int]] = [[] for _ in prompts]
    waiting = [list(prompt) for prompt in prompts]  # what no step has had
    positions = [0] * len(prompts)
    live = list(range(len(prompts)))
    while live:
        counts = _counts([len(waiting[i]) for i in live], decoder.most_rows, decoder.several)
        pieces = [Piece(i, positions[i], waiting[i][:count]) for i, count in zip(live, counts)]
        for piece, token in zip(pieces, decoder.step(pieces)):
            i = piece.sequence
            positions[i] += len(piece.tokens)
            waiting[i] = waiting[i][len(piece.tokens):]
            if waiting[i]:
                continue
            if token not in ends:
                waiting[i] = [token]
                made[i].append(token)
                on_token(i, token)
            if token in ends or len(made[i]) == max_tokens:
                live.remove(i)
    return made


class _Printer:
    """Prints a text as its tokens come, no half characters."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._tokens: List[int] = []
        self._printed = 0

    def add(self, token: int) -> None:
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if not text.endswith("\ufffd"):
            print(text[self._printed:], end="", flush=True)
            self._printed = len(text)


def chat_text(folder: Path, prompt: str) -> str:
    """The prompt as a user's message in the folder's chat template."""
    try:
        import jinja2.sandbox
    except ImportError as error:
        raise ValueError("--chat needs the package jinja2") from error
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    file = folder / "chat_template.jinja"
    template = file.read_text() if file.exists() else settings.get("chat_template")
    if template is None:
        raise ValueError(f"--chat: `{folder}` has no chat template")
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,
                                                               lstrip_blocks=True)
    tokens = {name: value if isinstance(value, str) else (value or {}).get("content", "")
              for name, value in settings.items() if name in ("bos_token", "eos_token")}
    return environment.from_string(template).render(
        messages=[{"role": "user", "content": prompt}], add_generation_prompt=True, **tokens)


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="etc-generate", description="Continues texts with a model's checkpoint")
    parser.add_argument("program", help="a decode step that `etc compile` wrote")
    parser.add_argument("folder", type=Path,
                        help="config.json, tokenizer.json and the safetensors of a model")
    parser.add_argument("prompts", nargs="+", metavar="prompt",
                        help="a text to continue; several go as one batch")
    parser.add_argument("--max-tokens", type=int, default=128, help="of each text")
    parser.add_argument("--chat", action="store_true",
                        help="the prompts are a user's messages: use the model's chat template")
    parser.add_argument("--sms", type=int, default=0,
                        help="SMs, or threads on the host, to use; 0 for all")
    parser.add_argument("--quiet", action="store_true", help="no timings")
    return parser.parse_args(arguments)


def _tokenizer(folder: Path) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ValueError("the package tokenizers is missing: pip install 'etcrt[generate]'") from error
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def _run(options: argparse.Namespace) -> None:
    config = json.loads((options.folder / "config.json").read_text())
    prefix = "language_model." if "text_config" in config else ""
    config = config.get("text_config", config)
    tokenizer = _tokenizer(options.folder)
    texts = [chat_text(options.folder, text) if options.chat else text for text in options.prompts]
    prompts = [tokenizer.encode(text, add_special_tokens=not options.chat).ids for text in texts]
    if not all(prompts):
        raise ValueError("a prompt has no tokens")
    begin = time.perf_counter()
    program = Program(options.program)
    weights = Weights(program, Checkpoint(options.folder), prefix=prefix)
    loaded = time.perf_counter()
    positions = max(map(len, prompts)) + options.max_tokens
    decoder = Decoder(program, weights, config, len(prompts), positions, options.sms)
    printers = [_Printer(tokenizer) for _ in prompts]
    times: List[float] = []

    def on_token(i: int, token: int) -> None:
        times.append(time.perf_counter())
        if len(prompts) == 1:
            printers[0].add(token)

    made = generate(decoder, prompts, options.max_tokens, end_tokens(options.folder, config), on_token)
    if len(prompts) == 1:
        print()
    else:
        for tokens in made:
            print(json.dumps(tokenizer.decode(tokens), ensure_ascii=False))
    if not options.quiet and times:
        count = max(map(len, made))
        rest = (times[-1] - times[0]) * 1e3 / max(count - 1, 1)
        print(f"{weights.bytes() / 1e9:.2f} GB loaded in {loaded - begin:.2f} s, first token after "
              f"{times[0] - loaded:.2f} s ({max(map(len, prompts))} tokens of prompt), then "
              f"{rest:.2f} ms for each of {count}", file=sys.stderr)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Exit code 0, or 1 with a message."""
    try:
        _run(_parse(arguments))
    except (Error, OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        what = f"config.json has no {error}" if isinstance(error, KeyError) else error
        print(f"etc-generate: error: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
