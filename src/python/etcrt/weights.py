"""Weights from a checkpoint: docs/weights.md."""

import ctypes
import os
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from ._library import (CheckpointInfo, CheckpointTensorInfo, Handle, ProgressFunction,
                       WeightsOptions, call, encoded, encoded_path, sized)
from .program import Program


class CheckpointTensor(NamedTuple):
    """`dtype` as the file spells it: "BF16"."""

    dtype: str
    shape: Tuple[int, ...]
    bytes: int


class Checkpoint:
    """A folder of safetensors, or one file."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]):
        self._handle = Handle("etc_checkpoint_free")
        call("etc_checkpoint_open", encoded_path(path), ctypes.byref(self._handle.pointer))

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.pointer

    def tensors(self) -> Dict[str, CheckpointTensor]:
        """By name, in the order of the files."""
        described = sized(CheckpointInfo)
        call("etc_checkpoint_describe", self.handle, ctypes.byref(described))
        tensors = {}
        info = sized(CheckpointTensorInfo)
        for index in range(described.tensors):
            call("etc_checkpoint_tensor", self.handle, index, ctypes.byref(info))
            tensors[info.name.decode()] = CheckpointTensor(
                info.dtype.decode(), tuple(info.shape[: info.rank]), info.bytes)
        return tensors


def _stops(progress: Callable[[int, int], Optional[bool]], done: int, total: int,
           raised: List[BaseException]) -> bool:
    """Whether the load is to end, also by an exception, which is kept."""
    try:
        return progress(done, total) is False
    except BaseException as error:
        raised.append(error)
        return True


class Weights:
    """The parameters of a graph that name tensors of a checkpoint, in memory as launches read them:
    of a graph with a mesh those of rank `rank` of `ranks`, whose device must be current.

    `progress` gets the bytes that are there and all of them, some ten times a second; when it returns
    False, the load ends with an Error, and when it raises, with what it raised. `prefix` stands before
    every name in the checkpoint. `threads` read and pack; 0: one less than there are cores, up to 16. A
    GPU packs what they read, unless `pack_on_host` or want of memory there leave that to them."""

    def __init__(self, program: Program, checkpoint: Checkpoint, graph: Optional[str] = None,
                 progress: Optional[Callable[[int, int], Optional[bool]]] = None,
                 prefix: str = "", rank: int = 0, ranks: int = 0, threads: int = 0,
                 pack_on_host: bool = False):
        self._program = program  # lives as long as what was loaded for it
        # Of the parameters that are loaded.
        self.names = [name for name, param in program.params(graph).items() if param.sources]
        self._handle = Handle("etc_weights_free")
        if ranks == 0 and rank != 0:
            raise ValueError(f"rank {rank} is none of 0 ranks")
        options = sized(WeightsOptions)
        options.prefix = encoded(prefix)
        options.rank, options.ranks, options.threads = rank, ranks, threads
        options.pack_on_host = pack_on_host
        raised: List[BaseException] = []  # no exception goes through the library
        if progress is not None:
            options.progress = ProgressFunction(
                lambda user, done, total: int(_stops(progress, done, total, raised)))
        try:
            call("etc_weights_load", program.handle, encoded(graph), checkpoint.handle,
                 ctypes.byref(options), ctypes.byref(self._handle.pointer))
        finally:
            if raised:
                raise raised[0]

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.pointer

    def bytes(self) -> int:
        """Of all memory, what parameters share once."""
        value = ctypes.c_int64()
        call("etc_weights_bytes", self.handle, ctypes.byref(value))
        return value.value
