"""Loaded artifacts."""

import ctypes
import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ._library import (ACCESS, DTYPES, ConstantInfo, DimInfo, Error, GraphInfo, Handle, ParamInfo,
                       ProgramInfo, Status, call, encoded, encoded_path, sized)
from .memory import current_stream, dtype_of_torch


class Tile(NamedTuple):
    """The last two axes are stored tile by tile."""

    rows: int
    columns: int
    swizzle: bool


class Param(NamedTuple):
    """A parameter: `extents` as text, one for each axis. `array`: of an array of tensors, how many
    it has, which is the first extent; else 0. `sources`: what it is called in a checkpoint. `shard`:
    the axis of which each rank has a part (`Program.part`), if there is one. `source_ranges`: of each
    source what is taken of the first axes of each tensor: the first element, the end, which is not
    taken, and the extent of the axis, or None for all of it. Where these are fewer elements than the
    parameter has, zeros come behind them."""

    access: str
    dtype: str
    extents: Tuple[str, ...]
    array: int = 0
    sources: Tuple[str, ...] = ()
    shard: Optional[int] = None
    source_ranges: Tuple[Tuple[Optional[Tuple[int, int, int]], ...], ...] = ()


def _ranges(text: str) -> Tuple[Optional[Tuple[int, int, int]], ...]:
    """Of `[0..3072 of 9216, *]` ((0, 3072, 9216), None), and of `[1003 padded]` ((0, 1003, 1003),)."""
    parts = [[int(number) for number in re.findall(r"\d+", part)] for part in text.split(",") if part]
    return tuple(None if not part else (0, part[0], part[0]) if len(part) == 1
                 else (part[0], part[1], part[2]) for part in parts)


def _seen_in_tiles(tensor: Any, tile: Tile) -> Any:
    """The memory of a dense tensor by the shape of a packed one."""
    *leading, rows, columns = tensor.shape
    return tensor.view(*leading, rows // tile.rows, columns // tile.columns, tile.rows,
                       tile.columns)


def _check_of_torch(name: str, tensor: Any) -> None:
    if not hasattr(tensor, "data_ptr"):
        raise TypeError(f"parameter `{name}`: a {type(tensor).__name__} is no torch tensor, which alone is "
                        "packed")


class Program:
    """A loaded artifact: one file (.etca), a manifest (.json) or its binary."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]):
        self._handle = Handle("etc_program_free")
        call("etc_program_load", encoded_path(path), ctypes.byref(self._handle.pointer))

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.pointer

    def target(self) -> str:
        """`host`, or for example `sm_90a`."""
        info = sized(ProgramInfo)
        call("etc_program_describe", self.handle, ctypes.byref(info))
        return info.target.decode()

    def constants(self) -> Dict[str, Union[bool, int, float]]:
        """The constants that the program was compiled with."""
        described = sized(ProgramInfo)
        call("etc_program_describe", self.handle, ctypes.byref(described))
        constants: Dict[str, Union[bool, int, float]] = {}
        info = sized(ConstantInfo)
        for index in range(described.constants):
            call("etc_program_constant", self.handle, index, ctypes.byref(info))
            value = (bool(info.int_value), info.int_value, info.float_value)[info.kind]
            constants[info.name.decode()] = value
        return constants

    def graphs(self) -> List[str]:
        """The names of the graphs."""
        names: List[str] = []
        info = sized(GraphInfo)
        while True:
            try:
                call("etc_program_graph", self.handle, len(names), ctypes.byref(info))
            except Error as error:
                if error.status == Status.NOT_FOUND:
                    return names
                raise
            names.append(info.name.decode())

    def _graph_info(self, graph: Optional[str]) -> Any:
        info = sized(GraphInfo)
        names = self.graphs()
        if encoded(graph) is None and len(names) > 1:
            raise Error(Status.ARGUMENT, f"the program has {len(names)} graphs, so one must be named")
        if graph is not None and graph not in names:
            raise Error(Status.NOT_FOUND, f"the program has no graph `{graph}`")
        index = 0 if graph is None else names.index(graph)
        call("etc_program_graph", self.handle, index, ctypes.byref(info))
        return info

    def dims(self, graph: Optional[str] = None) -> Dict[str, Tuple[int, int, int]]:
        """Name -> (min, max, multiple), both ends included."""
        dims = {}
        info = sized(DimInfo)
        for index in range(self._graph_info(graph).dims):
            call("etc_program_dim", self.handle, encoded(graph), index, ctypes.byref(info))
            dims[info.name.decode()] = (info.min, info.max, info.multiple)
        return dims

    def mesh(self, graph: Optional[str] = None) -> Optional[str]:
        """The dimension that is the number of ranks; None: the graph runs alone."""
        name = self._graph_info(graph).mesh
        return None if name is None else name.decode()

    def params(self, graph: Optional[str] = None) -> Dict[str, Param]:
        """By name, in the order of the manifest."""
        params = {}
        info = sized(ParamInfo)
        for index in range(self._graph_info(graph).params):
            call("etc_program_param", self.handle, encoded(graph), index, ctypes.byref(info))
            extents = tuple(info.extents[axis].decode() for axis in range(info.rank))
            sources = tuple(info.sources[i].decode() for i in range(info.source_count))
            ranges = tuple(_ranges(info.source_ranges[i].decode())
                           for i in range(info.source_count))
            params[info.name.decode()] = Param(ACCESS[info.access], DTYPES[info.dtype], extents,
                                               info.array, sources,
                                               info.shard if info.has_shard else None, ranges)
        return params

    def part(self, name: str, rank: int, ranks: int,
             graph: Optional[str] = None) -> Tuple[int, int]:
        """Which of how many parts of a parameter a rank of so many has: (0, 1) where it has all. Ranks
        that follow each other may have the same one."""
        part, parts = ctypes.c_int32(), ctypes.c_int32()
        call("etc_program_part", self.handle, encoded(graph), encoded(name), rank, ranks,
             ctypes.byref(part), ctypes.byref(parts))
        return part.value, parts.value

    def tiles(self, graph: Optional[str] = None) -> Dict[str, Tile]:
        """Of the parameters that are stored in tiles."""
        tiles = {}
        info = sized(ParamInfo)
        for index in range(self._graph_info(graph).params):
            call("etc_program_param", self.handle, encoded(graph), index, ctypes.byref(info))
            if info.has_tile:
                tiles[info.name.decode()] = Tile(info.tile[0], info.tile[1], info.swizzle != 0)
        return tiles

    def pack(self, name: str, tensor: Any, graph: Optional[str] = None) -> Any:
        """A row-major torch tensor in the layout of a parameter: a new one, of the shape of its tiles."""
        _check_of_torch(name, tensor)
        param, dtype = self.params(graph).get(name), dtype_of_torch(name, tensor)
        if param is not None and param.dtype != dtype:
            raise TypeError(f"parameter `{name}` is {param.dtype}, and the tensor {dtype}")
        import torch

        tensor = tensor.contiguous()
        packed = torch.empty_like(tensor)
        shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
        words = [self.handle, encoded(graph), encoded(name), shape, tensor.dim(),
                 tensor.data_ptr(), packed.data_ptr()]
        if tensor.is_cuda:
            call("etc_pack_device", *words, current_stream())
        else:
            call("etc_pack", *words)
        return _seen_in_tiles(packed, self.tiles(graph)[name])

    def as_packed(self, tensors: Dict[str, Any], graph: Optional[str] = None) -> Dict[str, Any]:
        """A dict of tensors in which those whose parameters have a layout are packed ones already,
        whatever their shapes say."""
        tiles = self.tiles(graph).items()
        return {**tensors, **{name: _seen_in_tiles(tensors[name], tile)
                              for name, tile in tiles if name in tensors}}

    def pack_all(self, tensors: Dict[str, Any], graph: Optional[str] = None) -> Dict[str, Any]:
        """Packs, in a dict, the tensors whose parameters have a layout, one after another: a dict
        that alone holds them never holds both forms of more than one. Entries that are one
        tensor, seen alike, still share one."""
        done: Dict[Any, Any] = {}
        for name, tile in self.tiles(graph).items():
            if name in tensors:
                _check_of_torch(name, tensors[name])
                tensor = tensors.pop(name)
                key = (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, tile)
                if key not in done:
                    done[key] = self.pack(name, tensor, graph)
                tensors[name] = done[key]
                del tensor
        return tensors
