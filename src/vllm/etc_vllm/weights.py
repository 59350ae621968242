"""Weights that vLLM has loaded, by the names that a program gives them. Those that are stored in
tiles, or that vLLM keeps in one tensor with others, are copied; the others are used in place."""

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

# Where vLLM has the projections of a layer's experts, those of all experts in one tensor: its name,
# and behind how many parts of as many rows a projection's begin.
_EXPERTS = {"gate_proj": ("w13_weight", 0), "up_proj": ("w13_weight", 1),
            "down_proj": ("w2_weight", 0)}
_Ranges = Sequence[Optional[Tuple[int, int, int]]]  # of the first axes; None: all of one


class NamedWeights:
    """Tensors of a checkpoint by name, from those of a model of vLLM. `fused` says which modules vLLM
    has joined (`packed_modules_mapping`), and `rows` how many rows each part has."""

    def __init__(self, tensors: Mapping[str, Any], fused: Mapping[str, Sequence[str]],
                 rows: Mapping[str, int]):
        self._tensors = tensors
        self._places: Dict[str, Tuple[str, int]] = {}  # part -> the joined module, its first row
        for whole, parts in fused.items():
            first = 0
            for part in parts:
                if part not in rows:
                    break
                self._places[part] = (whole, first)
                first += rows[part]

    def find(self, name: str, rows: int) -> Any:
        """A KeyError where there is none. vLLM pads vocabularies, so there may be more rows."""
        tensor, first = self._tensors.get(name), 0
        if tensor is None:
            part = _module(name)
            whole, first = self._places[part]
            tensor = self._tensors[name.replace(f".{part}.", f".{whole}.")]
        if tensor.shape[0] == rows:
            return tensor
        return tensor[first:first + rows]

    def find_experts(self, name: str, rows: int) -> Any:
        """Of all experts of a layer: [experts, rows, columns]. `name` has `{e}` for the expert's number.
        A KeyError where there are none."""
        modules, projection = name[:name.index("{")], _module(name)
        joined, parts = _EXPERTS[projection]
        tensor = self._tensors[f"{modules}routed_experts.{joined}"]
        return tensor[:, parts * rows:(parts + 1) * rows]

    def find_part(self, name: str, rows: int, ranges: _Ranges) -> Any:
        """What is taken of the axes of a tensor. A KeyError where there is none. The rows behind a
        vocabulary are padding of vLLM's, which has as many or more."""
        tensor = self._tensors[name]
        taken = [slice(part[0], part[1]) if part else slice(None) for part in ranges]
        if ranges[0] and ranges[0][1] - ranges[0][0] < rows:
            if tensor.shape[0] < rows:
                raise ValueError(f"the engine's `{name}` has {tensor.shape[0]} rows, and the program "
                                 f"pads them to {rows}")
            taken[0] = slice(0, rows)
        return tensor[tuple(taken)]

    def first(self, names: Sequence[str], rows: int, ranges: Sequence[_Ranges]) -> Any:
        """Of several names, the first that is there, and of its tensor what the name's ranges take."""
        for name, taken in zip(names, ranges):
            try:
                if taken:
                    return self.find_part(name, rows, taken)
                return self.find_experts(name, rows) if "{" in name else self.find(name, rows)
            except KeyError:
                continue
        raise ValueError(f"the engine has no weight `{'` or `'.join(names)}`")


def _module(name: str) -> str:
    """`q_proj` of `model.layers.3.self_attn.q_proj.weight`."""
    parts = name.rsplit(".", 2)
    return parts[-2] if len(parts) > 1 else name


def _axes(param: Any) -> int:
    """How many axes of a parameter are of tensors: none, that of the layers, or of their experts too."""
    return param.sources[0].count("{")


def rows_of(params: Mapping[str, Any]) -> Dict[str, int]:
    """The rows of each module, as the program's parameters have them."""
    return {_module(source): int(param.extents[_axes(param)])
            for param in params.values() for source in param.sources}


def _numbered(sources: Sequence[str], index: int) -> List[str]:
    return [f"{source[:source.index('{')]}{index}{source[source.index('}') + 1:]}"
            for source in sources]


def tensors_of(name: str, param: Any, weights: NamedWeights) -> List[Any]:
    """The tensors of a parameter: one, or one for each layer, which may have those of all experts."""
    axes = _axes(param)
    if axes > 2 or any(source.count("{") != axes for source in param.sources):
        raise ValueError(f"`{name}` is from more tensors than one for each layer and expert")
    rows = int(param.extents[axes])
    if axes == 0:
        return [weights.first(param.sources, rows, param.source_ranges)]
    return [weights.first(_numbered(param.sources, layer), rows, param.source_ranges)
            for layer in range(int(param.extents[0]))]


def weights_of(program: Any, weights: NamedWeights, stack: Any) -> Iterator[Tuple[str, Any]]:
    """The program's weights, each with what to bind: a tensor, or a list for an array. `stack` makes
    one tensor of several."""
    params, tiles = program.params(), program.tiles()
    packed: Dict[Any, Any] = {}  # tied embeddings are packed once
    for name, param in params.items():
        if not param.sources:
            continue
        parts = tensors_of(name, param, weights)
        views = tuple((part.data_ptr(), tuple(part.shape), tuple(part.stride())) for part in parts)
        key = (views, tiles.get(name), bool(param.array))
        if key not in packed:
            packed[key] = _laid_out(program, name, param, parts, name in tiles, stack)
        yield name, packed[key]


def _laid_out(program: Any, name: str, param: Any, parts: List[Any], in_tiles: bool,
              stack: Any) -> Any:
    if param.array:
        return [program.pack(name, part) for part in parts] if in_tiles else parts
    whole = stack(parts) if _axes(param) else parts[0]
    return program.pack(name, whole) if in_tiles else whole
