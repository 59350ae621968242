"""From a folder with a checkpoint to text: `etc-generate model.etca FOLDER "prompt"`.

The program is a decode step of the library's models (ir-examples/qwen3.etir and the like), compiled
with the folder's config.json. Prompts go through it token by token, or where the program takes
several new tokens of a sequence, in pieces as large as it takes. Each new token is the one with the
largest logit, or in a program that was compiled with `-D sampling=true` one that is drawn.

With --join, a process runs one rank of a program with a mesh, as torchrun, mpirun or srun start it.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Collection, List, Optional, Sequence

from ._library import Error
from .decoder import MOST_STEPS, Decoder, Piece, Sampling, check_whole
from .folder import (chat_text, check_constants, check_tokens, end_tokens, model_config, read_tokenizer,
                     tokens_of)
from .group import MOST_SECONDS, Group
from .program import Program
from .ranks import load_weights
from .weights import Checkpoint


def _counts(waiting: Sequence[int], most_rows: int, several: bool) -> List[int]:
    """How many tokens go into a step, of sequences with so many each: one at least, and what is left
    to the first."""
    room = most_rows - len(waiting) if several else 0
    counts = []
    for tokens in waiting:
        counts.append(1 + min(tokens - 1, room))
        room -= counts[-1] - 1
    return counts


class _Texts:
    """Prompts and what is made of them."""

    def __init__(self, prompts: Sequence[Sequence[int]], max_tokens: int, ends: Collection[int],
                 on_token: Callable[[int, int], None]):
        self.made: List[List[int]] = [[] for _ in prompts]
        self.waiting = [list(prompt) for prompt in prompts]  # what no step has had
        self.positions = [0] * len(prompts)
        self.live = list(range(len(prompts))) if max_tokens else []
        self._max_tokens = max_tokens
        self._ends = ends
        self._on_token = on_token

    def take(self, i: int, count: int, token: int) -> None:
        """A step has had so many tokens of a text, and this is the next one behind them."""
        self.positions[i] += count
        self.waiting[i] = self.waiting[i][count:]
        if self.waiting[i]:
            return
        if token not in self._ends:
            self.waiting[i] = [token]
            self.made[i].append(token)
            self._on_token(i, token)
        if token in self._ends or len(self.made[i]) == self._max_tokens:
            self.live.remove(i)

    def left(self) -> int:
        """The least number of tokens that a live text may still get; 0 while one has a prompt."""
        if not all(self.made[i] for i in self.live):
            return 0
        return min((self._max_tokens - len(self.made[i]) for i in self.live), default=0)


def _check(decoder: Decoder, prompts: Sequence[Sequence[int]], max_tokens: int, ahead: int) -> None:
    """Before anything runs: what of all steps is known."""
    check_whole("`max_tokens`", max_tokens)
    if ahead not in range(1, MOST_STEPS + 1):
        raise ValueError(f"`ahead` is from 1 to {MOST_STEPS}, and not {ahead}")
    check_whole("`ahead`", ahead)
    if max_tokens < 0:
        raise ValueError(f"{max_tokens} new tokens are less than none")
    if len(prompts) > decoder.batch:
        raise ValueError(f"{len(prompts)} prompts are more than the decoder's {decoder.batch} sequences")
    for i, prompt in enumerate(prompts):
        if len(prompt) == 0:
            raise ValueError(f"prompt {i} has no tokens")
        decoder.check_tokens(prompt)
        needed = len(prompt) + max_tokens - 1  # no step has the last token
        if max_tokens and needed > decoder.positions:
            raise ValueError(f"prompt {i} and its new tokens need {needed} positions, and the decoder has "
                             f"{decoder.positions}")


def generate(decoder: Decoder, prompts: Sequence[Sequence[int]], max_tokens: int,
             ends: Collection[int], on_token: Callable[[int, int], None],
             ahead: int = 8) -> List[List[int]]:
    """The new tokens of each prompt, up to `max_tokens` and without what ends a text. `on_token` gets
    the number of a prompt and its next token as it comes. Where the program draws, up to `ahead`
    steps are under way while the host looks at what those before drew: 1, for one after the other, to
    64. A ValueError where something does not fit, before anything runs."""
    _check(decoder, prompts, max_tokens, ahead)
    ends = frozenset(ends)
    texts = _Texts(prompts, max_tokens, ends, on_token)
    stepped: List[int] = []  # the sequences of the last step
    while texts.live:
        steps = texts.left() // 2 * 2
        if decoder.draws and ahead > 1 and steps and stepped == texts.live:
            for tokens in decoder.follow(steps, ahead, lambda: stepped == texts.live):
                for i, token in zip(stepped, tokens):
                    if i in texts.live:
                        texts.take(i, 1, token)
            continue
        counts = _counts([len(texts.waiting[i]) for i in texts.live], decoder.most_rows,
                         decoder.several)
        pieces = [Piece(i, texts.positions[i], texts.waiting[i][:count])
                  for i, count in zip(texts.live, counts)]
        stepped = list(texts.live)
        for piece, token in zip(pieces, decoder.step(pieces)):
            texts.take(piece.sequence, len(piece.tokens), token)
    return texts.made


class _Printer:
    """Prints a text as its tokens come, no half characters but at the end. What a token says depends
    on the one before it, and not on those before that: so a few tokens are decoded, and not all."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._tokens: List[int] = []  # those that were printed last, and those that were not yet
        self._printed = 0  # of these, how many tokens

    def add(self, token: int) -> None:
        self._tokens.append(token)
        text = self._new()
        if text and not text.endswith("\ufffd"):
            print(text, end="", flush=True)
            self._tokens = self._tokens[self._printed:]
            self._printed = len(self._tokens)

    def end(self) -> None:
        print(self._new())

    def _new(self) -> str:
        before = self._tokenizer.decode(self._tokens[:self._printed])
        return str(self._tokenizer.decode(self._tokens)[len(before):])


def whole_number(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**31:
        raise argparse.ArgumentTypeError(f"{number} is not from 0 to {2**31 - 1}")
    return number


def device_numbers(text: str) -> List[int]:
    return [whole_number(word) for word in text.split(",")]


def seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to {MOST_SECONDS}")
    return number


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="etc-generate", description="Continues texts with a model's checkpoint")
    parser.add_argument("program", help="a decode step that `etc compile` wrote")
    parser.add_argument("folder", type=Path,
                        help="config.json, tokenizer.json and the safetensors of a model")
    parser.add_argument("prompts", nargs="+", metavar="prompt",
                        help="a text to continue; several go as one batch")
    parser.add_argument("--max-tokens", type=whole_number, default=128, help="of each text")
    parser.add_argument("--chat", action="store_true",
                        help="the prompts are a user's messages: use the model's chat template")
    drawing = parser.add_argument_group(
        "drawing", "of a program that was compiled with -D sampling=true; in this order")
    drawing.add_argument("--repetition-penalty", type=float, default=1.0,
                         help="divides or multiplies the logits of tokens that the text has")
    drawing.add_argument("--temperature", type=float, default=0.0,
                         help="0 for the most likely token")
    drawing.add_argument("--top-k", type=int, default=0, help="so many of the most likely tokens")
    drawing.add_argument("--top-p", type=float, default=1.0,
                         help="the most likely tokens that have this probability together")
    drawing.add_argument("--min-p", type=float, default=0.0,
                         help="tokens with this share of the best one's probability")
    drawing.add_argument("--seed", type=int, default=0, help="of the first prompt, the next has the next")
    drawing.add_argument("--logprobs", action="store_true",
                         help="print a line of JSON for each token, with the log-probabilities of a "
                              "program that was compiled with -D logprobs=N")
    drawing.add_argument("--ahead", type=int, default=8,
                         help="steps that are under way while the host reads tokens, 8 by default")
    parser.add_argument("--sms", type=whole_number, default=0,
                        help="SMs, or threads on the host, to use; 0 for all")
    parser.add_argument("--devices", type=device_numbers,
                        help="of a program that was compiled with -D tp=N: the GPU of each rank, "
                             "0,1,.. by default")
    parser.add_argument("--join", action="store_true",
                        help="run one rank here, with a process for each of the others, as the "
                             "environment of torchrun, mpirun or srun says; rank 0 prints")
    parser.add_argument("--join-timeout", type=seconds, default=30.0, metavar="SECONDS",
                        help="how long ranks wait for each other, 30 by default")
    parser.add_argument("--quiet", action="store_true", help="no timings")
    return parser.parse_args(arguments)


def _sampling(options: argparse.Namespace, prompts: int) -> List[Sampling]:
    """One for each prompt, or none where no option asks for any."""
    def of(seed: int) -> Sampling:
        return Sampling(options.repetition_penalty, options.temperature, options.top_k,
                        options.top_p, options.min_p, seed)
    if not 1 <= options.ahead <= MOST_STEPS:
        raise ValueError(f"--ahead is from 1 to {MOST_STEPS}")
    asked = of(0) != Sampling() or options.seed != 0
    return [of(options.seed + i) for i in range(prompts)] if asked else []


class _Outlet:
    """What is printed of the texts: by rank 0, where each rank has a process."""

    def __init__(self, options: argparse.Namespace, tokenizer: Any, tells: bool):
        self.times: List[float] = []
        self._tokenizer, self._tells = tokenizer, tells
        self._scores, self._one = options.logprobs, len(options.prompts) == 1
        self._printer = _Printer(tokenizer)

    def add(self, decoder: Decoder, i: int, token: int) -> None:
        self.times.append(time.perf_counter())
        if not self._tells:
            return
        if self._scores:
            scored = decoder.scored[i]
            print(json.dumps({"prompt": i, "token": token, "text": self._tokenizer.decode([token]),
                              "logprob": scored.logprob, "best": scored.best}), flush=True)
        elif self._one:
            self._printer.add(token)

    def end(self, made: Sequence[Sequence[int]]) -> None:
        if not self._tells or self._scores:
            return
        if self._one:
            self._printer.end()
            return
        for tokens in made:
            print(json.dumps(self._tokenizer.decode(tokens), ensure_ascii=False))


def _run(options: argparse.Namespace, group: Optional[Group], program: Program) -> None:
    config, prefix = model_config(options.folder)
    check_constants(config, program.constants())
    ends = end_tokens(options.folder, config)
    tokenizer = read_tokenizer(options.folder)
    texts = [chat_text(options.folder, text) if options.chat else text for text in options.prompts]
    prompts = [tokens_of(tokenizer, text, not options.chat) for text in texts]
    sampling = _sampling(options, len(prompts))
    positions = max(map(len, prompts)) + options.max_tokens
    decoder = Decoder(program, None, config, len(prompts), positions, options.sms, sampling,
                      options.devices, group)
    if options.logprobs and not decoder.scores:
        raise ValueError("--logprobs: the program was compiled without `-D logprobs=N`")
    check_tokens(tokenizer, prompts, decoder.ids)
    begin = time.perf_counter()
    weights = load_weights(program, Checkpoint(options.folder), options.devices, prefix, group)
    decoder.load(weights)
    loaded = time.perf_counter()
    tells = group is None or group.own_rank == 0
    outlet = _Outlet(options, tokenizer, tells)
    made = generate(decoder, prompts, options.max_tokens, ends,
                    lambda i, token: outlet.add(decoder, i, token), 1 if options.logprobs else options.ahead)
    outlet.end(made)
    times = outlet.times
    if not options.quiet and times and tells:
        count = max(map(len, made))
        rest = (times[-1] - times[0]) * 1e3 / max(count - 1, 1)
        print(f"{sum(each.bytes() for each in weights) / 1e9:.2f} GB loaded in {loaded - begin:.2f} s, first token after "
              f"{times[0] - loaded:.2f} s ({max(map(len, prompts))} tokens of prompt), then "
              f"{rest:.2f} ms for each of {count}", file=sys.stderr)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Exit code 0, or 1 with a message. Ctrl-C ends the process as it ends others."""
    group: Optional[Group] = None
    try:
        options = _parse(arguments)
        program = Program(options.program)
        if options.join:
            group = Group.join(program, timeout=options.join_timeout)
        _run(options, group, program)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except (Error, OSError, RuntimeError, ValueError) as error:
        what = str(error)
        if group and not what.startswith("rank "):
            what = f"rank {group.own_rank}: {what}"
        print(f"etc-generate: error: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
