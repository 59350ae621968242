"""Graphs with their tensors, sizes and memory."""

import ctypes
import os
import sys
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from ._library import DTYPES, Borrowed, Handle, Tensor, call, encoded, exact, exact_array
from .memory import current_stream, dtype_of_torch
from .profile import Profile
from .program import Program
from .weights import Weights

_GetPointer = ctypes.pythonapi.PyCapsule_GetPointer
_GetPointer.restype = ctypes.c_void_p
_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

Stream = Any  # one of torch, or the address of a CUstream


def _address(stream: Optional[Stream]) -> int:
    if stream is None:
        return current_stream()
    return exact(ctypes.c_void_p, getattr(stream, "cuda_stream", stream), "stream")


def _seen_as_writable(tensor: Any) -> Any:
    """A read-only array of numpy as another one of its memory, as DLPack takes none that is read-only."""
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(tensor, numpy.ndarray) and tensor.flags.c_contiguous and not tensor.flags.writeable:
        memory = (ctypes.c_byte * tensor.nbytes).from_address(tensor.ctypes.data)
        return numpy.ndarray(tensor.shape, tensor.dtype, memory)
    return tensor


def _capsule(name: str, tensor: Any) -> Any:
    try:
        return tensor.__dlpack__()
    except BufferError as error:
        raise BufferError(f"parameter `{name}`: {error} Bind a copy: `.copy()`, or `.astype(...)` to "
                          "another byte order") from None


class Runtime:
    """One graph of a program with its tensors, sizes and memory. Keeps bound tensors alive."""

    def __init__(self, program: Union[Program, str, "os.PathLike[str]"],
                 graph: Optional[str] = None, *, _of_group: Optional[Borrowed] = None):
        self.program = program if isinstance(program, Program) else Program(program)
        self._params = self.program.params(graph)
        self._bound: Dict[Tuple[str, Optional[int]], Any] = {}
        self._handle = _of_group or Handle("etc_instance_free")
        if _of_group is None:
            call("etc_instance_create", self.program.handle, encoded(graph),
                 ctypes.byref(self._handle.pointer))

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle.pointer

    def set_dim(self, name: str, value: int) -> None:
        number = exact(ctypes.c_int64, value, f"dimension `{name}`")
        call("etc_instance_set_dim", self.handle, encoded(name), number)

    def clear_dim(self, name: str) -> None:
        call("etc_instance_clear_dim", self.handle, encoded(name))

    def dim(self, name: str) -> int:
        value = ctypes.c_int64()
        call("etc_instance_dim", self.handle, encoded(name), ctypes.byref(value))
        return value.value

    def shape(self, name: str) -> Tuple[int, ...]:
        """The shape of a parameter under the dims as they are now."""
        rank = len(self._params[name].extents) if name in self._params else 0
        extents = (ctypes.c_int64 * rank)()
        call("etc_instance_param_shape", self.handle, encoded(name), extents, rank)
        return tuple(extents)

    def value_range(self, name: str) -> Tuple[int, int]:
        """The bounds of a parameter's values under the dims as they are now, both included."""
        low, high = ctypes.c_int64(), ctypes.c_int64()
        call("etc_instance_value_range", self.handle, encoded(name), ctypes.byref(low),
             ctypes.byref(high))
        return low.value, high.value

    def bind_pointer(self, name: str, address: int, dtype: str, shape: Sequence[int],
                     strides: Optional[Sequence[int]] = None, index: Optional[int] = None) -> None:
        """`dtype` as the manifest spells it, `strides` in elements. `index`: of one tensor of an
        array."""
        if dtype not in DTYPES:
            raise ValueError(f"parameter `{name}`: `{dtype}` is none of {', '.join(DTYPES)}")
        rank = len(shape)
        if strides is not None and len(strides) != rank:
            raise ValueError(f"parameter `{name}`: {len(strides)} strides for a shape of {rank} extents")
        place = exact(ctypes.c_void_p, address or 0, f"parameter `{name}`: address")
        extents = exact_array(ctypes.c_int64, shape, f"parameter `{name}`: shape")
        steps = None if strides is None else exact_array(ctypes.c_int64, strides, f"parameter `{name}`: strides")
        tensor = Tensor(place, DTYPES.index(dtype), rank, extents, steps)
        self._bind("", name, index, ctypes.byref(tensor))

    def _bind(self, how: str, name: str, index: Optional[int], tensor: Any) -> None:
        if index is None:
            call("etc_instance_bind" + how, self.handle, encoded(name), tensor)
        else:
            call("etc_instance_bind_element" + how, self.handle, encoded(name), index, tensor)

    def _keep(self, name: str, index: Optional[int], owner: Any) -> None:
        """Alive, and no longer what was bound there before."""
        if index is None:
            self._bound = {key: kept for key, kept in self._bound.items() if key[0] != name}
        self._bound[name, index] = owner

    def bind(self, **tensors: Any) -> None:
        """Tensors by the names of their parameters: of torch, or of anything that speaks DLPack
        (cupy, jax; numpy for programs on the host). For an array, a list or a tuple of tensors, or
        one tensor with all of them stacked."""
        for name, tensor in tensors.items():
            if isinstance(tensor, (list, tuple)):
                self.bind_array(name, tensor)
            else:
                self.bind_tensor(name, tensor)

    def bind_array(self, name: str, tensors: Sequence[Any]) -> None:
        """All tensors of an array, each where it is."""
        array = self._params[name].array if name in self._params else 0
        if array and len(tensors) != array:
            raise ValueError(f"parameter `{name}` has {array} tensors, and {len(tensors)} are given")
        for index, tensor in enumerate(tensors):
            self.bind_tensor(name, tensor, index)

    def bind_tensor(self, name: str, tensor: Any, index: Optional[int] = None) -> None:
        """With `index`, one tensor of an array."""
        if hasattr(tensor, "data_ptr"):
            self.bind_pointer(name, tensor.data_ptr(), dtype_of_torch(name, tensor),
                              tuple(tensor.shape), tuple(tensor.stride()), index)
        elif hasattr(tensor, "__dlpack__"):
            is_read = name in self._params and self._params[name].access == "in"
            capsule = _capsule(name, _seen_as_writable(tensor) if is_read else tensor)
            self._bind("_dlpack", name, index, _GetPointer(capsule, b"dltensor"))
        else:
            raise TypeError(f"parameter `{name}`: a {type(tensor).__name__} is no tensor: it has "
                            "neither data_ptr nor __dlpack__")
        self._keep(name, index, tensor)

    def allow_overlap(self, name: str, other: str) -> None:
        """Launches use no element of one parameter that lies in an element of the other, although
        their tensors overlap."""
        call("etc_instance_allow_overlap", self.handle, encoded(name), encoded(other))

    def bind_weights(self, weights: Weights) -> None:
        """All parameters that were loaded."""
        call("etc_instance_bind_weights", self.handle, weights.handle)
        for name in weights.names:
            if name in self._params:
                self._keep(name, None, weights)

    def workspace_bytes(self) -> int:
        value = ctypes.c_int64()
        call("etc_instance_workspace_bytes", self.handle, ctypes.byref(value))
        return value.value

    def bind_workspace(self, address: int, size: int) -> None:
        call("etc_instance_bind_workspace", self.handle, exact(ctypes.c_void_p, address or 0, "address"), size)

    def reserve(self) -> None:
        """Allocates now what a launch needs, so that it can be captured."""
        call("etc_instance_reserve", self.handle)

    def set_sms(self, sms: int) -> None:
        call("etc_instance_set_sms", self.handle, sms)

    def launch(self, stream: Optional[Stream] = None) -> None:
        """On a stream of torch, on the address of one, or on torch's current one."""
        call("etc_instance_launch", self.handle, _address(stream))

    def check(self, stream: Optional[Stream] = None) -> None:
        """An Error when a debug check failed, or the watchdog ended a launch, since the last call; of a
        program with either it waits for the stream."""
        call("etc_instance_check", self.handle, _address(stream))

    def profile(self, stream: Optional[Stream] = None) -> Profile:
        """What the last launch did when, of a program that was compiled with `--profile`."""
        return Profile(self.handle, _address(stream))
