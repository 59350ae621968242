"""The ranks of a program with a mesh: all in this process, or one in each process."""

import ctypes
import os
from typing import List, Optional, Sequence, Union

from ._library import Borrowed, GroupInfo, Handle, JoinOptions, call, encoded, exact_array, sized
from .program import Program
from .runtime import Runtime, Stream, _address

MOST_SECONDS = 2**31 // 1000  # of a timeout: in milliseconds they have 32 bits


class Group:
    """All ranks of a graph in this process: rank 0 on device 0, and so on, or on the devices that are
    given."""

    def __init__(self, program: Union[Program, str, "os.PathLike[str]"], ranks: Optional[int] = None,
                 graph: Optional[str] = None, devices: Optional[Sequence[int]] = None):
        if (ranks is None) == (devices is None):
            raise TypeError("a group needs the number of its ranks, or their devices")
        self._open(program, graph)
        group = ctypes.byref(self._handle.pointer)
        if devices is None:
            call("etc_group_create", self.program.handle, encoded(graph), ranks, group)
        else:
            places = exact_array(ctypes.c_int32, devices, "devices")
            call("etc_group_create_on", self.program.handle, encoded(graph), len(devices), places, group)
        self._describe()

    @classmethod
    def join(cls, program: Union[Program, str, "os.PathLike[str]"], graph: Optional[str] = None, *,
             rank: Optional[int] = None, ranks: Optional[int] = None, address: Optional[str] = None,
             device: Optional[int] = None, timeout: float = 30.0) -> "Group":
        """One rank in this process, with a process for each of the others. What is not given, the
        environment of torchrun, mpirun or srun says."""
        if (rank is None) != (ranks is None):
            raise TypeError("`rank` and `ranks` go together")
        if not 0 <= timeout <= MOST_SECONDS:
            raise ValueError(f"a timeout is from 0 to {MOST_SECONDS} seconds, and not {timeout}")
        joined = cls.__new__(cls)
        joined._open(program, graph)
        options = sized(JoinOptions)
        options.ranks = ranks or 0
        options.rank = rank or 0
        options.address = encoded(address)
        options.timeout_ms = max(int(timeout * 1000), 1)
        options.has_device = device is not None
        options.device = device or 0
        call("etc_group_join", joined.program.handle, encoded(graph), ctypes.byref(options),
             ctypes.byref(joined._handle.pointer))
        joined._describe()
        return joined

    def _open(self, program: Union[Program, str, "os.PathLike[str]"], graph: Optional[str]) -> None:
        self.program = program if isinstance(program, Program) else Program(program)
        self._graph = graph
        self._handle = Handle("etc_group_free")

    def _describe(self) -> None:
        info = sized(GroupInfo)
        call("etc_group_describe", self.handle, ctypes.byref(info))
        self.ranks: int = info.ranks
        self.own_rank: Optional[int] = None if info.own_rank < 0 else info.own_rank
        self.device: Optional[int] = None if info.device < 0 else info.device  # of the own rank, of a GPU
        own = range(info.ranks) if info.own_rank < 0 else [info.own_rank]
        self.members: List[Runtime] = [self._member(rank) for rank in own]

    def _member(self, rank: int) -> Runtime:
        instance = ctypes.c_void_p()
        call("etc_group_instance", self.handle, rank, ctypes.byref(instance))
        return Runtime(self.program, self._graph, _of_group=Borrowed(instance, self._handle))

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.pointer

    def reserve(self) -> None:
        """Makes sure that all ranks have the same sizes, and memory for them."""
        call("etc_group_reserve", self.handle)

    def _streams(self, streams: Optional[Sequence[Optional[Stream]]]) -> Optional[ctypes.Array]:
        if streams is None:
            return None
        addresses = [None if stream is None else _address(stream) for stream in streams]
        if len(addresses) != len(self.members):
            raise ValueError(f"{len(addresses)} streams are not one for each of {len(self.members)} ranks")
        return (ctypes.c_void_p * len(self.members))(*addresses)

    def launch(self, streams: Optional[Sequence[Optional[Stream]]] = None) -> None:
        """Each rank of this process, on its stream; None: on one that it has for itself, in order with
        the default stream."""
        call("etc_group_launch", self.handle, self._streams(streams))

    def synchronize(self, streams: Optional[Sequence[Optional[Stream]]] = None) -> None:
        """Waits for the launches on these streams; an Error where one of them failed."""
        call("etc_group_synchronize", self.handle, self._streams(streams))
