"""libetcrt for PyTorch: load an artifact, bind tensors by name, launch on the current stream.

    program = etcrt.Program("row_sum.json")
    run = etcrt.Runtime(program)              # or Runtime("row_sum.json")
    a = program.pack("a", a)                  # where the parameter has a layout
    run.bind(a=a, c=c)                        # torch tensors; dims are inferred or set
    run.set_dim("n", 64)
    run.reserve()                             # before a capture
    run.launch()                              # on torch.cuda.current_stream()

The library is found by $ETCRT, else by name on the loader's path. Only the standard library is
needed to import this; torch only to bind its tensors.
"""

import collections
import ctypes
import os

_STATUS_OK = 0
_DTYPES = ["f32", "f16", "bf16", "i64", "i32", "u8", "bool", "u16", "i8", "u32", "f64", "f8e4m3",
           "f8e5m2"]
_TORCH_NAMES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "uint8": "u8", "bool": "bool", "uint16": "u16", "int8": "i8", "uint32": "u32",
    "float64": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}
_ACCESS = ["in", "out", "inout"]


class Error(RuntimeError):
    """What a call of the runtime had to say; `status` is its etc_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class _GraphInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("dims", ctypes.c_int32),
        ("params", ctypes.c_int32),
        ("kernels", ctypes.c_int32),
    ]


class _DimInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("min", ctypes.c_int64),
        ("max", ctypes.c_int64),
        ("multiple", ctypes.c_int64),
    ]


class _ParamInfo(ctypes.Structure):
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
    ]


def _sized(struct):
    return struct(struct_size=ctypes.sizeof(struct))


def _open():
    lib = ctypes.CDLL(os.environ.get("ETCRT", "libetcrt.so.1"))
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    int32, int64 = ctypes.c_int32, ctypes.c_int64
    signatures = {
        "etc_program_load": [text, ctypes.POINTER(pointer)],
        "etc_program_graph": [pointer, int32, ctypes.POINTER(_GraphInfo)],
        "etc_program_dim": [pointer, text, int32, ctypes.POINTER(_DimInfo)],
        "etc_program_param": [pointer, text, int32, ctypes.POINTER(_ParamInfo)],
        "etc_pack": [pointer, text, text, ctypes.POINTER(int64), int32, pointer, pointer],
        "etc_pack_device": [pointer, text, text, ctypes.POINTER(int64), int32, pointer, pointer,
                            pointer],
        "etc_instance_create": [pointer, text, ctypes.POINTER(pointer)],
        "etc_instance_set_dim": [pointer, text, int64],
        "etc_instance_clear_dim": [pointer, text],
        "etc_instance_dim": [pointer, text, ctypes.POINTER(int64)],
        "etc_instance_param_shape": [pointer, text, ctypes.POINTER(int64), int32],
        "etc_instance_value_range": [pointer, text, ctypes.POINTER(int64), ctypes.POINTER(int64)],
        "etc_instance_bind": [pointer, text, ctypes.POINTER(_Tensor)],
        "etc_instance_workspace_bytes": [pointer, ctypes.POINTER(int64)],
        "etc_instance_bind_workspace": [pointer, pointer, int64],
        "etc_instance_reserve": [pointer],
        "etc_instance_set_sms": [pointer, int32],
        "etc_instance_launch": [pointer, pointer],
        "etc_instance_check": [pointer, pointer],
    }
    for name, arguments in signatures.items():
        function = getattr(lib, name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    for name in ("etc_program_free", "etc_instance_free"):
        getattr(lib, name).argtypes = [pointer]
        getattr(lib, name).restype = None
    lib.etc_last_error.restype = text
    return lib


_library = None


def _lib():
    global _library
    if _library is None:
        _library = _open()
    return _library


def _check(status):
    if status != _STATUS_OK:
        raise Error(status, _lib().etc_last_error().decode())


def _name(text):
    return None if text is None else text.encode()


def _seen_in_tiles(tensor, tile):
    """The memory of a dense tensor by the shape of a packed one."""
    *leading, rows, columns = tensor.shape
    return tensor.view(*leading, rows // tile.rows, columns // tile.columns, tile.rows,
                       tile.columns)


Tile = collections.namedtuple("Tile", ["rows", "columns", "swizzle"])


class Program:
    """A loaded artifact."""

    def __init__(self, path):
        self.handle = ctypes.c_void_p()
        _check(_lib().etc_program_load(os.fsencode(path), ctypes.byref(self.handle)))

    def __del__(self):
        if getattr(self, "handle", None):
            _lib().etc_program_free(self.handle)

    def graphs(self):
        """The names of the graphs."""
        names, info = [], _sized(_GraphInfo)
        while _lib().etc_program_graph(self.handle, len(names), ctypes.byref(info)) == _STATUS_OK:
            names.append(info.name.decode())
        return names

    def _graph_info(self, graph):
        names = self.graphs()
        info = _sized(_GraphInfo)
        index = 0 if graph is None else names.index(graph)
        _check(_lib().etc_program_graph(self.handle, index, ctypes.byref(info)))
        return info

    def dims(self, graph=None):
        """Name -> (min, max, multiple), both ends included."""
        dims, info = {}, _sized(_DimInfo)
        for index in range(self._graph_info(graph).dims):
            _check(_lib().etc_program_dim(self.handle, _name(graph), index, ctypes.byref(info)))
            dims[info.name.decode()] = (info.min, info.max, info.multiple)
        return dims

    def params(self, graph=None):
        """Name -> (access, dtype, extents as text), in the order of the manifest."""
        params, info = {}, _sized(_ParamInfo)
        for index in range(self._graph_info(graph).params):
            _check(_lib().etc_program_param(self.handle, _name(graph), index, ctypes.byref(info)))
            extents = tuple(info.extents[axis].decode() for axis in range(info.rank))
            params[info.name.decode()] = (_ACCESS[info.access], _DTYPES[info.dtype], extents)
        return params

    def tiles(self, graph=None):
        """Name -> (rows, columns, swizzle) of the parameters that are stored in tiles."""
        tiles, info = {}, _sized(_ParamInfo)
        for index in range(self._graph_info(graph).params):
            _check(_lib().etc_program_param(self.handle, _name(graph), index, ctypes.byref(info)))
            if info.has_tile:
                tiles[info.name.decode()] = Tile(*info.tile, info.swizzle != 0)
        return tiles

    def pack(self, name, tensor, graph=None):
        """A row-major torch tensor in the layout of a parameter: a new one, of the shape of its tiles."""
        import torch

        tensor = tensor.contiguous()
        packed = torch.empty_like(tensor)
        shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
        words = [self.handle, _name(graph), _name(name), shape, tensor.dim(), tensor.data_ptr(),
                 packed.data_ptr()]
        if tensor.is_cuda:
            _check(_lib().etc_pack_device(*words, _current_stream().cuda_stream))
        else:
            _check(_lib().etc_pack(*words))
        return _seen_in_tiles(packed, self.tiles(graph)[name])

    def as_packed(self, tensors, graph=None):
        """A dict of tensors in which those whose parameters have a layout are packed ones already,
        whatever their shapes say."""
        tiles = self.tiles(graph).items()
        return tensors | {name: _seen_in_tiles(tensors[name], tile)
                          for name, tile in tiles if name in tensors}

    def pack_all(self, tensors, graph=None):
        """Packs, in a dict, the tensors whose parameters have a layout, one after another: a dict
        that alone holds them never holds both forms of more than one. Entries that share a tensor
        still do."""
        done = {}
        for name, tile in self.tiles(graph).items():
            if name in tensors:
                tensor = tensors.pop(name)
                key = (tensor.data_ptr(), tuple(tensor.shape), tile)
                if key not in done:
                    done[key] = self.pack(name, tensor, graph)
                tensors[name] = done[key]
                del tensor
        return tensors


class Runtime:
    """One graph of a program with its tensors, sizes and memory. Keeps bound tensors alive."""

    def __init__(self, program, graph=None):
        self.handle = ctypes.c_void_p()
        self.program = program if isinstance(program, Program) else Program(program)
        self._params = self.program.params(graph)
        self._bound = {}
        _check(_lib().etc_instance_create(self.program.handle, _name(graph),
                                          ctypes.byref(self.handle)))

    def __del__(self):
        if getattr(self, "handle", None):
            _lib().etc_instance_free(self.handle)

    def set_dim(self, name, value):
        _check(_lib().etc_instance_set_dim(self.handle, _name(name), value))

    def clear_dim(self, name):
        _check(_lib().etc_instance_clear_dim(self.handle, _name(name)))

    def dim(self, name):
        value = ctypes.c_int64()
        _check(_lib().etc_instance_dim(self.handle, _name(name), ctypes.byref(value)))
        return value.value

    def shape(self, name):
        """The shape of a parameter under the dims as they are now."""
        rank = len(self._params[name][2])
        extents = (ctypes.c_int64 * rank)()
        _check(_lib().etc_instance_param_shape(self.handle, _name(name), extents, rank))
        return tuple(extents)

    def value_range(self, name):
        """The bounds of a parameter's values under the dims as they are now, both included."""
        low, high = ctypes.c_int64(), ctypes.c_int64()
        _check(_lib().etc_instance_value_range(self.handle, _name(name), ctypes.byref(low),
                                               ctypes.byref(high)))
        return low.value, high.value

    def bind_pointer(self, name, address, dtype, shape, strides=None):
        """`dtype` as the manifest spells it, `strides` in elements."""
        rank = len(shape)
        extents = (ctypes.c_int64 * rank)(*shape)
        steps = None if strides is None else (ctypes.c_int64 * rank)(*strides)
        tensor = _Tensor(address, _DTYPES.index(dtype), rank, extents, steps)
        _check(_lib().etc_instance_bind(self.handle, _name(name), ctypes.byref(tensor)))

    def bind(self, **tensors):
        """Torch tensors, by the names of their parameters."""
        for name, tensor in tensors.items():
            self.bind_tensor(name, tensor)

    def bind_tensor(self, name, tensor):
        dtype = str(tensor.dtype).rsplit(".", 1)[-1]
        if dtype not in _TORCH_NAMES:
            raise TypeError(f"parameter `{name}`: {tensor.dtype} has no counterpart")
        self.bind_pointer(name, tensor.data_ptr(), _TORCH_NAMES[dtype], tuple(tensor.shape),
                          tuple(tensor.stride()))
        self._bound[name] = tensor

    def workspace_bytes(self):
        value = ctypes.c_int64()
        _check(_lib().etc_instance_workspace_bytes(self.handle, ctypes.byref(value)))
        return value.value

    def bind_workspace(self, address, size):
        _check(_lib().etc_instance_bind_workspace(self.handle, address, size))

    def reserve(self):
        _check(_lib().etc_instance_reserve(self.handle))

    def set_sms(self, sms):
        _check(_lib().etc_instance_set_sms(self.handle, sms))

    def launch(self, stream=None):
        """On a torch stream, on the address of one, or on torch's current stream."""
        if stream is None:
            stream = _current_stream()
        _check(_lib().etc_instance_launch(self.handle, getattr(stream, "cuda_stream", stream)))

    def check(self, stream=None):
        """Waits for the stream; an error when a debug check failed in a launch since the last."""
        if stream is None:
            stream = _current_stream()
        _check(_lib().etc_instance_check(self.handle, getattr(stream, "cuda_stream", stream)))


def _current_stream():
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.current_stream() if torch.cuda.is_available() else 0
