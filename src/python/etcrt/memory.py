"""Memory where a program runs, for callers that bring no tensors of their own."""

import ctypes
import operator
import sys
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ._library import Handle, call, exact


_TORCH_NAMES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "uint8": "u8", "bool": "bool", "uint16": "u16", "int8": "i8", "uint32": "u32",
    "float64": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}


def dtype_of_torch(name: str, tensor: Any) -> str:
    """What a program calls the type of a torch tensor's elements; a TypeError where it has no name."""
    dtype = str(tensor.dtype).rsplit(".", 1)[-1]
    if dtype not in _TORCH_NAMES:
        raise TypeError(f"parameter `{name}`: {tensor.dtype} has no counterpart")
    return _TORCH_NAMES[dtype]


def current_stream() -> int:
    """The address of torch's current stream where torch is in use; else the default stream."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0
    return torch.cuda.current_stream().cuda_stream


class Place(NamedTuple):
    """Where a rank or a program has its memory: on the host, or on a device; None: the current one."""

    on_device: bool
    device: Optional[int] = None

    def use(self) -> None:
        """Makes a device that has a number current for this thread."""
        if self.device is not None:
            call("etc_device_use", self.device)


class Buffer:
    """`size` bytes in a device's memory, or on the host, at a multiple of 256. A ValueError where
    what is written or read does not lie within them."""

    def __init__(self, size: int, on_device: bool, device: Optional[int] = None):
        self.size = operator.index(size)
        if self.size < 0:
            raise ValueError(f"a buffer of {size} bytes is none")
        self.on_device = on_device
        self._place = Place(on_device, device)
        self._device = ctypes.c_void_p()
        if on_device:
            self._place.use()
            call("etc_device_alloc", self.size, ctypes.byref(self._device))
        else:
            self._host = ctypes.create_string_buffer(self.size + 255)

    def __del__(self) -> None:
        if getattr(self, "_device", None):
            call("etc_device_free", self._device)

    @property
    def address(self) -> int:
        if self.on_device:
            return self._device.value or 0
        return (ctypes.addressof(self._host) + 255) // 256 * 256

    def fill(self, value: int) -> None:
        """All bytes."""
        value = exact(ctypes.c_uint8, value, "value")
        if self.on_device:
            self._place.use()
            stream = current_stream() if self._place.device is None else 0
            call("etc_device_fill", self.address, value, self.size, stream)
        else:
            ctypes.memset(self.address, value, self.size)

    def write(self, data: Any, begin: int = 0) -> None:
        """Bytes, or what has such as an array, from a byte on, the first one by default; done when it
        returns."""
        data, begin = bytes(memoryview(data)), operator.index(begin)
        if begin < 0 or begin + len(data) > self.size:
            raise ValueError(f"{len(data)} bytes from {begin} on do not fit into a buffer of {self.size}")
        if self.on_device:
            self._place.use()
            call("etc_device_copy_to", self.address + begin, data, len(data))
        else:
            ctypes.memmove(self.address + begin, data, len(data))

    def read(self, size: int) -> bytes:
        """The first bytes, behind all work on the default stream."""
        if not 0 <= size <= self.size:
            raise ValueError(f"a buffer of {self.size} bytes has no {size}")
        data = ctypes.create_string_buffer(size)
        if self.on_device:
            self._place.use()
            call("etc_device_copy_from", data, self.address, size)
        else:
            ctypes.memmove(data, self.address, size)
        return data.raw


class HostInts:
    """Integers of 32 bits on the host, which launches store while the host reads."""

    def __init__(self, count: int, from_device: bool):
        self._pinned = ctypes.c_void_p()
        if from_device:
            call("etc_host_alloc", 4 * count, ctypes.byref(self._pinned))
            self.values = (ctypes.c_int32 * count).from_address(self._pinned.value or 0)
        else:
            self.values = (ctypes.c_int32 * count)()

    def __del__(self) -> None:
        if getattr(self, "_pinned", None):
            call("etc_host_free", self._pinned)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.values)

    def fill(self, value: int) -> None:
        self.values[:] = [value] * len(self.values)


class Queue:
    """Launches of a device in their order, which other work does not wait for; of host programs, which
    run when they are launched, none."""

    def __init__(self, place: Place):
        self._place = place
        self._stream = ctypes.c_void_p()
        if place.on_device:
            place.use()
            call("etc_stream_create", ctypes.byref(self._stream))

    def __del__(self) -> None:
        if getattr(self, "_stream", None):
            call("etc_stream_free", self._stream)

    @property
    def address(self) -> int:
        return self._stream.value or 0

    def wait(self) -> None:
        """Until all of them have ended."""
        if self._stream:
            call("etc_stream_synchronize", self._stream)

    def begin(self) -> None:
        """What is enqueued from here to `end` is recorded, and does not run."""
        self._place.use()
        call("etc_recording_begin", self._stream)

    def end(self) -> Callable[[], None]:
        """Enqueues what was recorded, as one CUDA graph."""
        graph = Handle("etc_recording_free")
        self._place.use()
        call("etc_recording_end", self._stream, ctypes.byref(graph.pointer))
        return lambda: call("etc_recording_launch", graph.pointer, self._stream)


def product(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
