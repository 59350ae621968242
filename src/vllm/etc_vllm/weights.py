"""Weights that vLLM has loaded, by the names that a program gives them. Those that are stored in
tiles, or that vLLM keeps in one tensor with others, are copied; the others are used in place."""

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple


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

    def first(self, names: Sequence[str], rows: int) -> Any:
        """Of several names, the first that is there."""
        for name in names:
            try:
                return self.find(name, rows)
            except KeyError:
                continue
        raise ValueError(f"the engine has no weight `{'` or `'.join(names)}`")


def _module(name: str) -> str:
    """`q_proj` of `model.layers.3.self_attn.q_proj.weight`."""
    parts = name.rsplit(".", 2)
    return parts[-2] if len(parts) > 1 else name


def _is_stacked(param: Any) -> bool:
    return "{" in param.sources[0]


def rows_of(params: Mapping[str, Any]) -> Dict[str, int]:
    """The rows of each module, as the program's parameters have them."""
    return {_module(source): int(param.extents[1 if _is_stacked(param) else 0])
            for param in params.values() for source in param.sources}


def _numbered(sources: Sequence[str], index: int) -> List[str]:
    return [f"{source[:source.index('{')]}{index}{source[source.index('}') + 1:]}"
            for source in sources]


def tensors_of(name: str, param: Any, weights: NamedWeights) -> List[Any]:
    """The tensors of a parameter: one, or one for each layer."""
    if not _is_stacked(param):
        return [weights.first(param.sources, int(param.extents[0]))]
    if any(source.count("{") != 1 for source in param.sources):
        raise ValueError(f"`{name}` is from more tensors than one for each layer")
    return [weights.first(_numbered(param.sources, layer), int(param.extents[1]))
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
        key = (tuple(part.data_ptr() for part in parts), tiles.get(name), bool(param.array))
        if key not in packed:
            packed[key] = _laid_out(program, name, param, parts, name in tiles, stack)
        yield name, packed[key]


def _laid_out(program: Any, name: str, param: Any, parts: List[Any], in_tiles: bool,
              stack: Any) -> Any:
    if param.array:
        return [program.pack(name, part) for part in parts] if in_tiles else parts
    whole = stack(parts) if _is_stacked(param) else parts[0]
    return program.pack(name, whole) if in_tiles else whole
