"""The C interface: include/etc/runtime.h, device.h and weights.h by ctypes."""

import ctypes
import enum
import operator
import os
from typing import Any, Optional, Sequence, Union

DTYPES = ("f32", "f16", "bf16", "i64", "i32", "u8", "bool", "u16", "i8", "u32", "f64", "f8e4m3",
          "f8e5m2")
ACCESS = ("in", "out", "inout")
_INT32, _INT64 = ctypes.c_int32, ctypes.c_int64


class Status(enum.IntEnum):
    """etc_status."""

    OK = 0
    ARGUMENT = 1
    NOT_FOUND = 2
    FILE = 3
    MANIFEST = 4
    BINARY = 5
    BIND = 6
    DIM = 7
    UNBOUND = 8
    VALUE = 9
    CAPTURE = 10
    OUT_OF_MEMORY = 11
    NO_DEVICE = 12
    DEVICE = 13
    INTERNAL = 14
    BUSY = 15
    TIMEOUT = 16
    CHECKPOINT = 17
    CANCELLED = 18
    GROUP = 19


class Error(RuntimeError):
    """What a call of the library had to say; `status` is its Status, or a number of a later library."""

    def __init__(self, status: int, text: str):
        super().__init__(status, text)  # from which a copy is made, also in another process
        self.status = Status(status) if status in set(Status) else status

    def __str__(self) -> str:
        return self.args[1]


def exact(kind: Any, value: Any, name: str) -> int:
    """An integer that a C type has in full, to whose bits ctypes alone would cut it."""
    number = operator.index(value)
    if (kind(number).value or 0) != number:  # an address of 0 is None
        raise ValueError(f"{name}: {number} does not fit in {8 * ctypes.sizeof(kind)} bits")
    return number


def exact_array(kind: Any, values: Sequence[Any], name: str) -> ctypes.Array:
    return (kind * len(values))(*(exact(kind, value, name) for value in values))


class Options(ctypes.Structure):
    """What the caller fills in, with integers that are not cut."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = dict(self._fields_)[name]
        super().__setattr__(name, exact(kind, value, name) if kind in (_INT32, _INT64) else value)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class ProgramInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("binary_file", ctypes.c_char_p),
        ("toolchain", ctypes.c_char_p),
        ("graphs", ctypes.c_int32),
        ("constants", ctypes.c_int32),
        ("debug_checks", ctypes.c_int32),
        ("hash", ctypes.c_char_p),
        ("compiler_version", ctypes.c_char_p),
        ("flags", ctypes.POINTER(ctypes.c_char_p)),
        ("flag_count", ctypes.c_int32),
        ("proofs", ctypes.c_int32),
        ("assumptions", ctypes.c_int32),
        ("not_proved", ctypes.c_int32),
        ("watchdog", ctypes.c_int32),
        ("profile", ctypes.c_int32),
    ]


class ConstantInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("int_value", ctypes.c_int64),
        ("float_value", ctypes.c_double),
    ]


class GraphInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("dims", ctypes.c_int32),
        ("params", ctypes.c_int32),
        ("kernels", ctypes.c_int32),
        ("mesh", ctypes.c_char_p),
    ]


class DimInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("min", ctypes.c_int64),
        ("max", ctypes.c_int64),
        ("multiple", ctypes.c_int64),
    ]


class ParamInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("access", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("extents", ctypes.POINTER(ctypes.c_char_p)),
        ("alignment", ctypes.c_int64),
        ("has_value_range", ctypes.c_int32),
        ("value_min", ctypes.c_char_p),
        ("value_max", ctypes.c_char_p),
        ("has_tile", ctypes.c_int32),
        ("tile", ctypes.c_int64 * 2),
        ("distinct", ctypes.c_int32),
        ("monotone", ctypes.c_int32),
        ("swizzle", ctypes.c_int32),
        ("array", ctypes.c_int64),
        ("sources", ctypes.POINTER(ctypes.c_char_p)),
        ("source_count", ctypes.c_int32),
        ("has_shard", ctypes.c_int32),
        ("shard", ctypes.c_int32),
        ("source_ranges", ctypes.POINTER(ctypes.c_char_p)),
    ]


class CheckpointInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("files", ctypes.c_int32),
        ("tensors", ctypes.c_int32),
        ("bytes", ctypes.c_int64),
    ]


class CheckpointTensorInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
    ]


class ProfileInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("spans", ctypes.c_int64),
        ("lost", ctypes.c_int64),
        ("tracks", ctypes.c_int32),
        ("summary", ctypes.c_char_p),
    ]


class JoinOptions(Options):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("ranks", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("address", ctypes.c_char_p),
        ("timeout_ms", ctypes.c_int32),
        ("has_device", ctypes.c_int32),
        ("device", ctypes.c_int32),
    ]


class GroupInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("ranks", ctypes.c_int32),
        ("own_rank", ctypes.c_int32),
        ("device", ctypes.c_int32),
    ]


ProgressFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class WeightsOptions(Options):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("progress", ProgressFunction),
        ("user", ctypes.c_void_p),
        ("prefix", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("threads", ctypes.c_int64),
        ("pack_on_host", ctypes.c_int32),
    ]


_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_TO = ctypes.POINTER

_SIGNATURES = {
    "etc_program_load": [_TEXT, _TO(_POINTER)],
    "etc_program_describe": [_POINTER, _TO(ProgramInfo)],
    "etc_program_constant": [_POINTER, _INT32, _TO(ConstantInfo)],
    "etc_program_graph": [_POINTER, _INT32, _TO(GraphInfo)],
    "etc_program_dim": [_POINTER, _TEXT, _INT32, _TO(DimInfo)],
    "etc_program_param": [_POINTER, _TEXT, _INT32, _TO(ParamInfo)],
    "etc_program_part": [_POINTER, _TEXT, _TEXT, _INT32, _INT32, _TO(_INT32), _TO(_INT32)],
    "etc_pack": [_POINTER, _TEXT, _TEXT, _TO(_INT64), _INT32, _POINTER, _POINTER],
    "etc_pack_device": [_POINTER, _TEXT, _TEXT, _TO(_INT64), _INT32, _POINTER, _POINTER, _POINTER],
    "etc_instance_create": [_POINTER, _TEXT, _TO(_POINTER)],
    "etc_instance_set_dim": [_POINTER, _TEXT, _INT64],
    "etc_instance_clear_dim": [_POINTER, _TEXT],
    "etc_instance_dim": [_POINTER, _TEXT, _TO(_INT64)],
    "etc_instance_param_shape": [_POINTER, _TEXT, _TO(_INT64), _INT32],
    "etc_instance_value_range": [_POINTER, _TEXT, _TO(_INT64), _TO(_INT64)],
    "etc_instance_bind": [_POINTER, _TEXT, _TO(Tensor)],
    "etc_instance_bind_dlpack": [_POINTER, _TEXT, _POINTER],
    "etc_instance_bind_element": [_POINTER, _TEXT, _INT64, _TO(Tensor)],
    "etc_instance_bind_element_dlpack": [_POINTER, _TEXT, _INT64, _POINTER],
    "etc_instance_allow_overlap": [_POINTER, _TEXT, _TEXT],
    "etc_instance_bind_weights": [_POINTER, _POINTER],
    "etc_instance_workspace_bytes": [_POINTER, _TO(_INT64)],
    "etc_instance_bind_workspace": [_POINTER, _POINTER, _INT64],
    "etc_instance_reserve": [_POINTER],
    "etc_instance_set_sms": [_POINTER, _INT32],
    "etc_instance_launch": [_POINTER, _POINTER],
    "etc_instance_check": [_POINTER, _POINTER],
    "etc_group_create": [_POINTER, _TEXT, _INT32, _TO(_POINTER)],
    "etc_group_create_on": [_POINTER, _TEXT, _INT32, _TO(_INT32), _TO(_POINTER)],
    "etc_group_join": [_POINTER, _TEXT, _TO(JoinOptions), _TO(_POINTER)],
    "etc_group_describe": [_POINTER, _TO(GroupInfo)],
    "etc_group_instance": [_POINTER, _INT32, _TO(_POINTER)],
    "etc_group_reserve": [_POINTER],
    "etc_group_launch": [_POINTER, _TO(_POINTER)],
    "etc_group_synchronize": [_POINTER, _TO(_POINTER)],
    "etc_instance_profile": [_POINTER, _POINTER, _TO(_POINTER)],
    "etc_profile_describe": [_POINTER, _TO(ProfileInfo)],
    "etc_profile_json": [_POINTER, _TO(_TEXT)],
    "etc_checkpoint_open": [_TEXT, _TO(_POINTER)],
    "etc_checkpoint_describe": [_POINTER, _TO(CheckpointInfo)],
    "etc_checkpoint_tensor": [_POINTER, _INT32, _TO(CheckpointTensorInfo)],
    "etc_weights_load": [_POINTER, _TEXT, _POINTER, _TO(WeightsOptions), _TO(_POINTER)],
    "etc_weights_bytes": [_POINTER, _TO(_INT64)],
    "etc_device_use": [_INT32],
    "etc_device_alloc": [_INT64, _TO(_POINTER)],
    "etc_device_free": [_POINTER],
    "etc_device_copy_to": [_POINTER, _POINTER, _INT64],
    "etc_device_copy_from": [_POINTER, _POINTER, _INT64],
    "etc_device_fill": [_POINTER, ctypes.c_uint8, _INT64, _POINTER],
    "etc_device_synchronize": [],
    "etc_host_alloc": [_INT64, _TO(_POINTER)],
    "etc_host_free": [_POINTER],
    "etc_stream_create": [_TO(_POINTER)],
    "etc_stream_free": [_POINTER],
    "etc_stream_synchronize": [_POINTER],
    "etc_recording_begin": [_POINTER],
    "etc_recording_end": [_POINTER, _TO(_POINTER)],
    "etc_recording_launch": [_POINTER, _POINTER],
}
_FREES = ("etc_program_free", "etc_instance_free", "etc_group_free", "etc_profile_free", "etc_checkpoint_free",
          "etc_weights_free", "etc_recording_free")

_library: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library, opened at the first call."""
    global _library
    if _library is None:
        opened = ctypes.CDLL(os.environ.get("ETCRT", "libetcrt.so.1"))
        for name, arguments in _SIGNATURES.items():
            function = getattr(opened, name)
            function.argtypes = arguments
            function.restype = ctypes.c_int
        for name in _FREES:
            function = getattr(opened, name)
            function.argtypes = [_POINTER]
            function.restype = None
        opened.etc_last_error.restype = _TEXT
        _library = opened
    return _library


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the library; a failure is an Error, and an integer that would be cut a
    ValueError."""
    for kind, value in zip(_SIGNATURES[name], arguments):
        if kind in (_INT32, _INT64) and not isinstance(value, kind):
            exact(kind, value, "value")
    status = getattr(library(), name)(*arguments)
    if status != Status.OK:
        raise Error(status, library().etc_last_error().decode(errors="replace"))


def sized(struct: Any) -> Any:
    """A struct that says its own size, for the library to fill."""
    return struct(struct_size=ctypes.sizeof(struct))


def _whole(text: bytes) -> bytes:
    """As C has it, which ends a text at a NUL."""
    if 0 in text:
        raise ValueError(f"the name {text!r} has a NUL")
    return text


def encoded(text: Optional[str]) -> Optional[bytes]:
    if text is not None and not isinstance(text, str):
        raise TypeError(f"a name is a str, and not {text!r}")
    return None if text is None else _whole(text.encode())


def encoded_path(path: Union[str, "os.PathLike[str]"]) -> bytes:
    return _whole(os.fsencode(path))


class Handle:
    """An object of the library, freed with its owner."""

    def __init__(self, free: str):
        self.pointer = ctypes.c_void_p()
        self._free = free

    def __del__(self) -> None:
        if getattr(self, "pointer", None) and _library is not None:
            getattr(_library, self._free)(self.pointer)


class Borrowed:
    """An object of the library that another one owns, which it keeps alive."""

    def __init__(self, pointer: ctypes.c_void_p, owner: Handle):
        self.pointer = pointer
        self._owner = owner
