"""Calls of the CUDA driver for measurements, and memory that the library takes from them."""

import ctypes
import time


class Driver:
    """The few calls of libcuda that measurements of memory and copies need."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.use()

    def use(self):
        """For the calls of this thread."""
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *words):
        result = getattr(self.cuda, name)(*words)
        if result:
            raise RuntimeError(f"{name} gives {result}")

    def pinned(self, size):
        data = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(data), ctypes.c_size_t(size), 0)
        return data

    def device(self, size):
        data = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(size))
        return data

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def copy(self, to, source, size, piece, streams=(None,)):
        """Seconds of copies of a piece each, in one stream after the other."""
        begin = time.perf_counter()
        for number, at in enumerate(range(0, size, piece)):
            self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(to.value + at),
                      ctypes.c_void_p(source + at), ctypes.c_size_t(piece),
                      streams[number % len(streams)])
        self.call("cuCtxSynchronize")
        return time.perf_counter() - begin


class Allocator(ctypes.Structure):
    """etc_allocator, of the driver's memory; `sizes` has what is there now, in its order."""

    ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p)
    RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
    _fields_ = [("struct_size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("allocate", ALLOCATE),
                ("release", RELEASE)]

    def __init__(self, driver):
        super().__init__(struct_size=ctypes.sizeof(Allocator))
        self.sizes = {}
        self.allocate = self.ALLOCATE(lambda user, size, device, stream: self.give(driver, size))
        self.release = self.RELEASE(lambda user, data, size, device: self.take(driver, data))

    def give(self, driver, size):
        data = driver.device(size).value
        self.sizes[data] = size
        return data

    def take(self, driver, data):
        del self.sizes[data]
        driver.call("cuMemFree_v2", ctypes.c_uint64(data))
