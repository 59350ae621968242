"""Programs with a mesh for the scripts beside it: what a rank has of each parameter, its tensors, and the
group of all ranks in this process."""

import ctypes
import random
import struct

from etcrt._library import Tensor, call

F32 = 0
INPUTS = 8  # sets of inputs, by turns
HIDDEN, UNITS = 48, 128  # of mlp_tp.etir
SHARD, WHOLE, OUT = "shard", "whole", "out"  # of an input: whether all ranks have the same


def all_reduce(ranks, n):
    return {"x": ((1, n), SHARD), "y": ((n,), OUT)}


def mlp_tp(ranks, rows):
    return {"x": ((rows, HIDDEN), WHOLE), "up": ((UNITS // ranks, HIDDEN), SHARD),
            "down": ((HIDDEN, UNITS // ranks), SHARD), "y": ((rows, HIDDEN), OUT)}


# The program, its size, and what a rank has of each parameter.
CASES = [("all_reduce", "n", 1, all_reduce), ("all_reduce", "n", 777, all_reduce),
         ("all_reduce", "n", 4096, all_reduce), ("mlp_tp", "rows", 3, mlp_tp),
         ("mlp_tp", "rows", 16, mlp_tp)]


def device_count():
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        raise RuntimeError("there is no CUDA device")
    return count.value


def volume(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


class Memory:
    """Floats on a device; of no device: on the host."""

    def __init__(self, device, count):
        self.device, self.bytes = device, 4 * count
        if device is None:
            self.buffer = ctypes.create_string_buffer(self.bytes)
            self.address = ctypes.c_void_p(ctypes.addressof(self.buffer))
            return
        self.address = ctypes.c_void_p()
        call("etc_device_use", ctypes.c_int32(device))
        call("etc_device_alloc", self.bytes, ctypes.byref(self.address))

    def write(self, data):
        if self.device is None:
            ctypes.memmove(self.address, data, self.bytes)
            return
        call("etc_device_use", ctypes.c_int32(self.device))
        call("etc_device_copy_to", self.address, data, self.bytes)

    def read(self):
        if self.device is None:
            return self.buffer.raw[:self.bytes]
        data = ctypes.create_string_buffer(self.bytes)
        call("etc_device_use", ctypes.c_int32(self.device))
        call("etc_device_copy_from", data, self.address, self.bytes)
        return data.raw


def input_floats(param, number, rank, params):
    """Of set `number`, what a rank has of an input."""
    shape, kind = params[param]
    numbers = random.Random(f"{number} {param} {rank if kind == SHARD else ''}")
    return [numbers.randint(-99, 99) / 8 for _ in range(volume(shape))]


class Rank:
    """An instance with its tensors on a device, and room for the results of some launches."""

    def __init__(self, instance, rank, device, size, params, results):
        self.instance, self.device, self.params = instance, device, params
        self.set_dim(*size)
        self.inputs = [{} for _ in range(INPUTS)]
        for number, inputs in enumerate(self.inputs):
            for param, (shape, kind) in params.items():
                if kind != OUT:
                    floats = input_floats(param, number, rank, params)
                    inputs[param] = Memory(device, volume(shape))
                    inputs[param].write(struct.pack(f"{len(floats)}f", *floats))
        self.outputs = [Memory(device, volume(params["y"][0])) for _ in range(results)]

    def bind(self, number, output):
        """The inputs of this number, and where the result goes."""
        for param, memory in [*self.inputs[number % INPUTS].items(), ("y", self.outputs[output])]:
            shape = self.params[param][0]
            tensor = Tensor(memory.address, F32, len(shape), (ctypes.c_int64 * len(shape))(*shape),
                            None)
            call("etc_instance_bind", self.instance, param.encode(), ctypes.byref(tensor))

    def set_dim(self, name, value):
        call("etc_instance_set_dim", self.instance, name.encode(), value)

    def launch(self):
        """By itself."""
        call("etc_instance_launch", self.instance, None)

    def wait(self):
        """For its device alone, which asks for no failure."""
        call("etc_device_use", ctypes.c_int32(self.device))
        call("etc_device_synchronize")

    def check(self):
        call("etc_instance_check", self.instance, None)


class Group:
    """The ranks of a program with their tensors."""

    def __init__(self, program, size, devices, params, results):
        self.group = ctypes.c_void_p()
        places = (ctypes.c_int32 * len(devices))(*devices)
        call("etc_group_create_on", program.handle, None, ctypes.c_int32(len(devices)), places,
             ctypes.byref(self.group))
        self.ranks = []
        for rank, device in enumerate(devices):
            instance = ctypes.c_void_p()
            call("etc_group_instance", self.group, ctypes.c_int32(rank), ctypes.byref(instance))
            self.ranks.append(Rank(instance, rank, device, size, params, results))

    def bind(self, number, output):
        for rank in self.ranks:
            rank.bind(number, output)

    def launch(self, number, output):
        """With the inputs of this number; null streams are the ranks' own."""
        self.bind(number, output)
        self.again()

    def again(self):
        call("etc_group_launch", self.group, None)

    def reserve(self):
        call("etc_group_reserve", self.group)

    def synchronize(self):
        call("etc_group_synchronize", self.group, None)

    def result(self, output):
        return [rank.outputs[output].read() for rank in self.ranks]
