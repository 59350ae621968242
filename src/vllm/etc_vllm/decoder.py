"""A step of the library's models over the caches and the buffers of an engine."""

from typing import Any, Mapping, Optional, Sequence

from etcrt import Runtime
from etcrt.decoder import rotary_frequencies

from .caches import caches_of
from .steps import Limits, pages_for
from .weights import NamedWeights, rows_of, weights_of

_NEEDED = ("ids", "pos", "page_table", "inv_freq", "k_cache", "v_cache", "logits", "token")


class Decoder:
    """`torch` is the module, or what has the same `empty`, `tensor`, `stack`, `sub` and `mul`."""

    def __init__(self, program: Any, config: Mapping[str, Any], torch: Any, device: Any):
        self.program, self._torch, self._device = program, torch, device
        self._params = program.params()
        missing = [name for name in _NEEDED if name not in self._params]
        if missing:
            raise ValueError(f"the program has no parameter `{missing[0]}`")
        for name in ("k_cache", "v_cache"):
            if not self._params[name].array:
                raise ValueError(f"`{name}` is no array of tensors: --array k_cache,v_cache")
        self._several = "row_start" in self._params
        if self._several and not program.constants().get("last_logits", False):
            raise ValueError("the program has logits of all new tokens: -D last_logits=true")
        for name, param in self._params.items():
            if name not in (*_NEEDED, "row_start") and not param.sources:
                raise ValueError(f"the program has a parameter `{name}`, which no step "
                                 "of the library has by default")
        self._columns = int(self._params["logits"].extents[1])  # of logits: those behind are padding
        self.vocabulary = int(program.constants().get("vocab_size", self._columns))
        self._run = Runtime(program)
        self._bound: Any = None  # sizes and places of the step before
        # Bytes beside vLLM's own: the logits, and what the sampler makes of them in its graph.
        self.memory = 3 * 4 * self.program.dims()["batch"][1] * self._columns
        self.limits: Optional[Limits] = None
        frequencies = rotary_frequencies(dict(config))
        self._run.bind(inv_freq=torch.tensor(frequencies, dtype=torch.float32, device=device))

    def bind_weights(self, tensors: Mapping[str, Any], fused: Mapping[str, Sequence[str]]) -> None:
        """Those of a model of vLLM."""
        named = NamedWeights(tensors, fused, rows_of(self._params))
        counted = {tensor.data_ptr() for tensor in tensors.values()}
        for name, weights in weights_of(self.program, named, self._torch.stack):
            self._run.bind(**{name: weights})
            for tensor in weights if isinstance(weights, list) else [weights]:
                if tensor.data_ptr() not in counted:
                    counted.add(tensor.data_ptr())
                    self.memory += tensor.numel() * tensor.element_size()

    def bind_caches(self, tensors: Sequence[Any], sequences: int, blocks: int) -> None:
        """The caches of vLLM, for so many sequences of so many blocks at most."""
        torch, dims = self._torch, self.program.dims()
        extents = self._params["k_cache"].extents
        if int(extents[0]) != len(tensors):
            raise ValueError(f"the program has {extents[0]} layers, and the engine {len(tensors)}")
        caches = caches_of(tensors, [int(extent) for extent in extents[2:]])
        for name, places in (("k_cache", caches.keys), ("v_cache", caches.values)):
            for layer, address in enumerate(places):
                self._run.bind_pointer(name, address, "bf16", caches.shape, index=layer)
        self._run.allow_overlap("k_cache", "v_cache")
        self._caches = list(tensors)  # alive for as long as they are bound
        sequences = min(sequences, dims["batch"][1])
        self._page, self._most_pages = caches.shape[2], min(blocks, dims["max_pages"][1])
        rows = dims["batch"][1] if self._several else sequences
        self.limits = Limits(sequences, self._most_pages * self._page, rows if self._several else 0)
        integers = {"dtype": torch.int32, "device": self._device}
        self._positions = torch.empty((sequences,), **integers)
        self._pages = torch.empty((sequences * self._most_pages,), **integers)
        self._token = torch.empty((sequences,), **integers)
        self._logits = torch.empty((sequences, self._columns), dtype=torch.float32,
                                   device=self._device)
        # In the place of hidden states, which nobody reads behind a step of the program.
        self.hidden = torch.empty((rows, 1), dtype=torch.float32, device=self._device)
        ids = torch.empty((rows,), **integers)
        starts = torch.empty((sequences + 1,), **integers)
        # Kernels of decoding, and of prompts of one sequence and of many.
        for count, new in {(sequences, sequences), (1, rows), (min(sequences, rows // 2 + 1), rows)}:
            if self._several or new == sequences:
                self._bind_step(count, new, self._most_pages, ids, starts)
                self._run.reserve()

    def room(self, longest: int) -> int:
        """The positions for which the page table of a step has room whose longest sequence has so many."""
        return self._width(longest) * self._page

    def reserve(self, ids: Any, sequences: int, longest: int, starts: Any = None) -> None:
        """The memory of a step of decoding, so that it can be captured."""
        self._bind_step(sequences, sequences, self._width(longest), ids, starts)
        self._run.reserve()

    def step(self, ids: Any, lengths: Any, table: Any, sequences: int, longest: int,
             rows: Optional[int] = None, starts: Any = None) -> Any:
        """The logits of each sequence's last new token. `ids`, `lengths`, `table` and `starts` are
        vLLM's own: the new tokens, the lengths with them, the blocks of each sequence, and where its
        new tokens begin. No length is more than `longest`. There are `rows` new tokens; where it is not
        said, one of each sequence."""
        torch = self._torch
        width, positions = self._width(longest), self._positions[:sequences]
        rows = sequences if rows is None else rows
        if rows == sequences:
            torch.sub(lengths[:sequences], 1, out=positions)
        else:
            torch.sub(starts[1:sequences + 1], starts[:sequences], out=positions)
            torch.sub(lengths[:sequences], positions, out=positions)
        torch.mul(table[:sequences, :width], 2, out=self._page_table(sequences, width))
        self._bind_step(sequences, rows, width, ids, starts)
        self._run.launch()
        return self.logits(sequences)

    def logits(self, sequences: int) -> Any:
        """Where a step leaves them."""
        return self._logits[:sequences, :self.vocabulary]

    def _width(self, longest: int) -> int:
        return pages_for(longest, self._page, self._most_pages)

    def _page_table(self, sequences: int, width: int) -> Any:
        return self._pages[:sequences * width].reshape(sequences, width)

    def _bind_step(self, sequences: int, rows: int, width: int, ids: Any, starts: Any) -> None:
        """Unless all is as in the step before."""
        bound = (sequences, rows, width, ids.data_ptr(), starts.data_ptr() if self._several else 0)
        if bound == self._bound:
            return
        self._bound = bound
        if self._several:
            self._run.set_dim("batch", rows)
            self._run.set_dim("extra", rows - sequences)
            self._run.bind(row_start=starts[:sequences + 1])
        self._run.bind(ids=ids[:rows], pos=self._positions[:sequences],
                       page_table=self._page_table(sequences, width), logits=self._logits[:sequences],
                       token=self._token[:sequences])
