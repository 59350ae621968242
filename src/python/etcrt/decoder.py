"""A model's decode step as an object: sequences with caches, new tokens in, next tokens out."""

import dataclasses
import numbers
import operator
import struct
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from .group import Group
from .memory import product
from .program import Program
from .ranks import Ranks
from .rotary import rotary_frequencies
from .weights import Weights

_ELEMENT_BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i64": 8, "u32": 4}
MOST_STEPS = 64  # that the host may be behind, and the places of a ring
_PATIENCE = 1.0  # seconds for a token to land before the host waits for the device

_LARGEST = 2.0**127  # in f32, which the settings are bound as
_SETTINGS = {"temperature": "f", "top_k": "i", "top_p": "f", "min_p": "f",
             "repetition_penalty": "f", "seed": "q"}


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How the next token of a sequence is chosen, in the order in which it applies; the fields' own
    values leave the tokens as they are. With temperature 0 the most likely token is next. Two
    sequences with one seed draw the same where their logits are the same."""

    repetition_penalty: float = 1.0
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("top_k", "seed"):
            if not isinstance(getattr(self, name), numbers.Integral):
                raise ValueError(f"`{name}` is a whole number, and not {getattr(self, name)!r}")
        for what, holds in (
                ("a repetition penalty is above 0", 1 / _LARGEST < self.repetition_penalty < _LARGEST),
                ("a temperature is 0, or from 0.00001 on",
                 self.temperature == 0 or 1e-5 <= self.temperature < _LARGEST),
                ("top-k is 0, for all tokens, or a number of tokens", 0 <= self.top_k < 2**31),
                ("top-p is above 0 and at most 1", 0 < self.top_p <= 1),
                ("min-p is from 0 to 1", 0 <= self.min_p <= 1),
                ("a seed has 64 bits", -2**63 <= self.seed < 2**64)):
            if not holds:
                raise ValueError(what)


def check_whole(what: str, number: Any) -> None:
    """A ValueError where it is no whole number."""
    try:
        operator.index(number)
    except TypeError:
        raise ValueError(f"{what} is a whole number, and not {number!r}") from None


class Piece(NamedTuple):
    """New tokens of a sequence, the first of them at `position`."""

    sequence: int
    position: int
    tokens: Sequence[int]


class Scored(NamedTuple):
    """The log-probability that the logits alone give a token, and the most likely tokens with theirs,
    the best one first."""

    logprob: float
    best: Sequence[Tuple[int, float]]


class Decoder:
    """`batch` sequences with caches for so many positions each, which `positions` tells in whole pages,
    and tokens whose least and largest number `ids` has. `several` says whether a step takes several
    new tokens of a sequence, and `most_rows` how many of all sequences; `last` whether the program was
    compiled with `last_logits`, so that a step has logits of the last of these alone; `draws` whether
    it was compiled with `sampling`, which `sampling`, one for each sequence, needs. Of a program with
    `logprobs`, `scored` has those of the last step by sequence.

    Of a program with a mesh, `weights` are those of each rank, and rank r runs on device r or on
    `devices[r]` (`etcrt.ranks.load_weights`). With a `group` that has a process for each rank, they
    are those of the own one, and every process makes the same calls. All ranks choose the same
    tokens, and the first one of a process tells them.

    A ValueError or an Error says what does not fit. Without `weights`, all else is looked at before
    they are loaded, and `load` takes them."""

    def __init__(self, program: Program, weights: Union[Weights, Sequence[Weights], None],
                 config: Dict[str, Any], batch: int, positions: int, sms: int = 0,
                 sampling: Sequence[Sampling] = (), devices: Optional[Sequence[int]] = None,
                 group: Optional[Group] = None):
        self._params = program.params()
        for name in ("ids", "pos", "page_table", "k_cache", "v_cache", "inv_freq", "logits", "token"):
            if name not in self._params:
                raise ValueError(f"the program is no decode step: it has no parameter `{name}`")
        self._sequences: Sequence[int] = ()  # whose pages the page table has
        self._next: List[int] = []  # the position of the token that each is to take
        self._pair: Optional[Callable[[], None]] = None  # launches two steps that follow each other
        dims = program.dims()
        self.several = "row_start" in self._params
        self.last = bool(program.constants().get("last_logits", False))
        self.draws = "slot" in self._params
        self.scored: Dict[int, Scored] = {}
        if sampling and not self.draws:
            raise ValueError("the program takes the most likely token: it was compiled without "
                             "`-D sampling=true`")
        if sampling and len(sampling) != batch:
            raise ValueError(f"{len(sampling)} ways of sampling are not one for each of {batch} sequences")
        if batch < 1 or positions < 1:
            raise ValueError(f"{batch} sequences of {positions} positions are none: one is the least of both")
        self.batch = batch
        self.most_rows = dims["batch"][1] if self.several else batch
        if batch > dims["batch"][1]:
            raise ValueError(f"{batch} sequences are more than the program's {dims['batch'][1]}")
        page = int(self._params["k_cache"].extents[3])
        self._pages = -(-positions // page)
        self.positions = self._pages * page
        limit = dims["max_pages"][1]
        if self._pages > limit:
            raise ValueError(f"{positions} positions are more than the program's {limit * page}")
        frequencies = self._frequencies(config)
        self._ranks = Ranks(program, devices, group)
        self._first = self._ranks.all[0]
        self._run, self._buffers = self._first.run, self._first.buffers
        self._set_dim("max_pages", self._pages)
        self._set_dim("num_pages", batch * self._pages)
        if self.draws:
            self._set_dim("slots", batch)
            self._set_dim("ring", MOST_STEPS)
        for rank in self._ranks.all:
            rank.run.set_sms(sms)
        self._set_sizes(self.most_rows, batch)
        inputs = ["ids", "pos", "page_table", *(["row_start"] if self.several else [])]
        drawn = ["slot", "next_ids", "next_pos"] if self.draws else []
        self._scores = [name for name in ("logprob", "best_token", "best_logprob")
                        if name in self._params]
        self.scores = bool(self._scores)
        self._of_step = [*inputs, "logits", "token", *drawn, *self._scores]
        kept = [*_SETTINGS, "seen"] if self.draws else []
        for name in (*self._of_step, *kept, "inv_freq", "k_cache", "v_cache"):
            self._allocate(name)
        self.ids = self._run.value_range("ids")
        self._write("inv_freq", frequencies, "f")
        for name in ("k_cache", "v_cache", *(["seen"] if self.draws else [])):
            for rank in self._ranks.all:
                rank.buffers[name].fill(0)
        if self.draws:
            self._set_sampling(sampling or [Sampling()] * batch)
            self._make_rings(batch)
        if weights is not None:
            self.load(weights)

    def load(self, weights: Union[Weights, Sequence[Weights]]) -> None:
        """Takes the weights, those of each rank of this process, before the first step."""
        self._ranks.bind_weights([weights] if isinstance(weights, Weights) else weights)
        self._ranks.reserve()
        for rank in self._ranks.all:
            rank.settle()

    def _frequencies(self, config: Dict[str, Any]) -> List[float]:
        frequencies = rotary_frequencies(config)
        size = product([int(extent) for extent in self._params["inv_freq"].extents])
        if len(frequencies) != size:
            raise ValueError(f"config.json: `head_dim` makes {len(frequencies)} rotary frequencies, and the "
                             f"program takes {size}")
        return frequencies

    def _set_dim(self, name: str, value: int) -> None:
        for rank in self._ranks.all:
            rank.run.set_dim(name, value)

    def _set_sizes(self, rows: int, sequences: int) -> None:
        self._set_dim("batch", rows)
        if self.several:
            self._set_dim("extra", rows - sequences)

    def _set_sampling(self, sampling: Sequence[Sampling]) -> None:
        for name, kind in _SETTINGS.items():
            values = [getattr(one, name) for one in sampling]
            if name == "seed":
                values = [value - 2**64 if value >= 2**63 else value for value in values]
            self._write(name, values, kind)

    def _allocate(self, name: str) -> None:
        for rank in self._ranks.all:
            size = product(rank.run.shape(name)) * _ELEMENT_BYTES[self._params[name].dtype]
            if name in ("next_ids", "next_pos"):  # by turns with the step's own
                size = max(size, rank.buffers[name[len("next_"):]].size)
            rank.allocate(name, size)
            rank.bind(name)

    def _make_rings(self, batch: int) -> None:
        """Where ranks tell the tokens of steps that follow each other."""
        self._rings = []
        for rank in self._ranks.all:
            ring = rank.allocate_ints(batch * MOST_STEPS)
            rank.run.bind_pointer("ring", ring.address, "i32", (batch, MOST_STEPS))
            self._rings.append(ring)

    def _bind(self, name: str, buffer: str = "") -> None:
        for rank in self._ranks.all:
            rank.bind(name, buffer)

    def _write(self, name: str, values: Sequence[Any], kind: str = "i") -> None:
        data = struct.pack(f"{len(values)}{kind}", *values)
        for rank in self._ranks.all:
            rank.buffers[name].write(data)

    def _forget(self, sequence: int) -> None:
        """A sequence that begins has no token yet, whatever had its place before."""
        for rank in self._ranks.all:
            row = 4 * rank.run.shape("seen")[1]
            rank.buffers["seen"].write(bytes(row), row * sequence)

    def check_tokens(self, tokens: Sequence[int]) -> None:
        """A ValueError where one is none of the program's."""
        low, high = self.ids
        for token in tokens:
            check_whole("a token", token)
            if not low <= token <= high:
                raise ValueError(f"the token {token} is not from {low} to {high}")

    def _check(self, pieces: Sequence[Piece]) -> None:
        """A launch does not look at what these make it read and write."""
        if not pieces:
            raise ValueError("a step has no piece")
        for sequence, position, tokens in pieces:
            check_whole("a sequence", sequence)
            check_whole("a position", position)
            if not 0 <= sequence < self.batch:
                raise ValueError(f"there is no sequence {sequence}: there are {self.batch}")
            if len(tokens) == 0:
                raise ValueError(f"the piece of sequence {sequence} has no token")
            if len(tokens) > 1 and not self.several:
                raise ValueError(f"the piece of sequence {sequence} has {len(tokens)} tokens, and the program "
                                 "was compiled without `-D several_tokens=true`")
            if position < 0 or position + len(tokens) > self.positions:
                raise ValueError(f"sequence {sequence} has {self.positions} positions, and none for "
                                 f"{len(tokens)} tokens from {position} on")
            self.check_tokens(tokens)
        if len({piece.sequence for piece in pieces}) < len(pieces):
            raise ValueError("two pieces are of one sequence")
        rows = sum(len(piece.tokens) for piece in pieces)
        if rows > self.most_rows:
            raise ValueError(f"{rows} tokens in a step are more than the program's {self.most_rows}")

    def step(self, pieces: Sequence[Piece]) -> List[int]:
        """The next token behind each piece, a `Piece` or its three values; no two are of one sequence.
        A piece at position 0 begins a new text. A ValueError where one does not fit, an Error where
        the launch fails."""
        pieces = [Piece(*piece) for piece in pieces]
        self._check(pieces)
        starts = [0]
        for piece in pieces:
            starts.append(starts[-1] + len(piece.tokens))
        self._set_sizes(starts[-1], len(pieces))
        self._pair = None
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
            if self.draws:
                self._write("slot", sequences)
            self._sequences = sequences
        if self.draws:
            for piece in pieces:
                if piece.position == 0:
                    self._forget(piece.sequence)
        self._ranks.launch()
        self._ranks.wait()
        rows = list(range(len(pieces))) if self.last else [end - 1 for end in starts[1:]]
        count = product(self._run.shape("token"))
        tokens = struct.unpack(f"{count}i", self._buffers["token"].read(4 * count))
        self._next = [piece.position + len(piece.tokens) for piece in pieces]
        if self._scores:
            self.scored = {piece.sequence: scored for piece, scored
                           in zip(pieces, self._read_scores(rows))}
        return [tokens[row] for row in rows]

    def _read_scores(self, rows: Sequence[int]) -> List[Scored]:
        def read(name: str, kind: str) -> Sequence[Any]:
            count = product(self._run.shape(name))
            return struct.unpack(f"{count}{kind}", self._buffers[name].read(4 * count))
        of_tokens, best = read("logprob", "f"), read("best_token", "i")
        values, count = read("best_logprob", "f"), self._run.shape("best_token")[1]
        return [Scored(of_tokens[row], [(best[i], values[i])
                                        for i in range(row * count, (row + 1) * count)])
                for row in rows]

    def follow(self, steps: int, ahead: int, wanted: Callable[[], bool]) -> Iterator[List[int]]:
        """What steps draw that go on with the sequences of the last one, each by the token that was
        drawn before: a list for each step. `steps` is even and 2 at least, and so many are launched,
        two at a time, unless nothing more is `wanted`. The host reads the tokens while up to `ahead`
        later steps run. A ValueError where they cannot follow."""
        if not self.draws or steps < 2 or steps % 2 or not 2 <= ahead <= MOST_STEPS:
            raise ValueError(f"{steps} steps cannot follow, {ahead} at a time")
        if not self._next or max(self._next) + steps > self.positions:
            raise ValueError(f"{steps} steps cannot follow from the positions {self._next} on: there are "
                             f"{self.positions}")
        if self._pair is None:
            self._pair = self._recorded_pair()
        for ring in self._rings:
            ring.fill(-1)
        launched = seen = 0
        try:
            while seen < launched or (launched < steps and wanted()):
                while launched + 2 <= min(steps, seen + ahead) and wanted():
                    self._pair()
                    launched += 2
                yield self._landed(seen)
                seen += 1
        finally:
            self._ranks.wait()
            self._next = [position + launched for position in self._next]

    def _recorded_pair(self) -> Callable[[], None]:
        """The first step reads what the last one has made ready, and the second what the first has."""
        count = len(self._sequences)
        self._set_sizes(count, count)
        if self.several:
            self._write("row_start", range(count + 1))
        for name in self._of_step:
            self._bind(name)
        self._ranks.reserve()  # these sizes may have a kernel of their own

        def enqueue() -> None:
            for read, made in (("next_", ""), ("", "next_")):
                for name in ("ids", "pos"):
                    self._bind(name, read + name)
                    self._bind(f"next_{name}", made + name)
                self._ranks.launch()

        return self._ranks.recorded(enqueue)

    def _landed(self, step: int) -> List[int]:
        """The tokens of a step, counted from the last one that was no pair's, as soon as they are there."""
        values = self._rings[0].values
        places = [sequence * MOST_STEPS + (position + 1 + step) % MOST_STEPS
                  for sequence, position in zip(self._sequences, self._next)]
        begin = time.monotonic()
        while any(values[place] < 0 for place in places):
            if time.monotonic() - begin > _PATIENCE:
                self._ranks.wait()
                if any(values[place] < 0 for place in places):
                    raise RuntimeError("a step has ended without its tokens")
        tokens = [values[place] for place in places]
        for place in places:
            values[place] = -1
        return tokens
