#!/usr/bin/env python3
"""Programs with a mesh on this machine's GPUs: the ranks share device 0, and with several GPUs they
have one each.

Each program runs once with `etc run --check`, where every launch is compared with the program of all
ranks. Then its ranks are launched many times, many launches at once, by turns with several inputs:
what they write must be equal in every bit to a launch by itself. Then launches on end are timed.

    check_ranks.py [--launches N] [--ranks N,N..]

$ETC is the compiler and $ETCRT names libetcrt. Needs the CUDA driver.
"""

import argparse
import ctypes
import os
import random
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import command
import etcrt
from etcrt._library import Tensor, call

ROOT = Path(__file__).resolve().parents[2]
F32 = 0
INPUTS = 8  # sets of inputs, by turns
AT_ONCE = 64  # launches
HIDDEN, UNITS = 48, 96  # of mlp_tp.etir
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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--launches", type=int, default=10000)
    parser.add_argument("--ranks", type=command.integers, default=[1, 2, 4])
    parser.add_argument("--timed", type=int, default=2000, help="launches on end")
    parser.add_argument("--limit", type=int, default=240, help="seconds for one run of etc")
    parser.add_argument("--compiler", default="", help="words for etc, such as `--compiler nvcc`")
    return parser.parse_args()


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
    """Floats on a device."""

    def __init__(self, device, count):
        self.device, self.bytes = device, 4 * count
        self.address = ctypes.c_void_p()
        call("etc_device_use", ctypes.c_int32(device))
        call("etc_device_alloc", self.bytes, ctypes.byref(self.address))

    def write(self, data):
        call("etc_device_use", ctypes.c_int32(self.device))
        call("etc_device_copy_to", self.address, data, self.bytes)

    def read(self):
        data = ctypes.create_string_buffer(self.bytes)
        call("etc_device_use", ctypes.c_int32(self.device))
        call("etc_device_copy_from", data, self.address, self.bytes)
        return data.raw


class Group:
    """The ranks of a program with their tensors."""

    def __init__(self, program, size, devices, params):
        name, value = size
        self.params = params
        self.group = ctypes.c_void_p()
        places = (ctypes.c_int32 * len(devices))(*devices)
        call("etc_group_create_on", program.handle, None, ctypes.c_int32(len(devices)), places,
             ctypes.byref(self.group))
        self.ranks, self.inputs, self.outputs = [], [], []
        for rank, device in enumerate(devices):
            instance = ctypes.c_void_p()
            call("etc_group_instance", self.group, ctypes.c_int32(rank), ctypes.byref(instance))
            call("etc_instance_set_dim", instance, name.encode(), value)
            self.ranks.append(instance)
            self.inputs.append([{} for _ in range(INPUTS)])
            for number, inputs in enumerate(self.inputs[-1]):
                for param, (shape, kind) in params.items():
                    if kind != OUT:
                        numbers = random.Random(f"{number} {param} {rank if kind == SHARD else ''}")
                        floats = [numbers.randint(-99, 99) / 8 for _ in range(volume(shape))]
                        inputs[param] = Memory(device, volume(shape))
                        inputs[param].write(struct.pack(f"{len(floats)}f", *floats))
            self.outputs.append([Memory(device, volume(params["y"][0])) for _ in range(AT_ONCE)])

    def bind(self, rank, param, memory):
        shape = self.params[param][0]
        tensor = Tensor(memory.address, F32, len(shape), (ctypes.c_int64 * len(shape))(*shape), None)
        call("etc_instance_bind", self.ranks[rank], param.encode(), ctypes.byref(tensor))

    def launch(self, number, output):
        """With the inputs of this number; null streams are the ranks' own."""
        for rank in range(len(self.ranks)):
            for param, memory in self.inputs[rank][number % INPUTS].items():
                self.bind(rank, param, memory)
            self.bind(rank, "y", self.outputs[rank][output])
        self.again()

    def again(self):
        call("etc_group_launch", self.group, None)

    def synchronize(self):
        call("etc_group_synchronize", self.group, None)

    def result(self, output):
        return [outputs[output].read() for outputs in self.outputs]


def count_wrong(group, launches):
    """Of many launches, those that are not equal to one by itself."""
    expected = []
    for number in range(INPUTS):
        group.launch(number, 0)
        group.synchronize()
        expected.append(group.result(0))
        if any(each != expected[-1][0] for each in expected[-1]):
            return launches  # all ranks have the same result
    if len({each[0] for each in expected}) != INPUTS:
        return launches
    wrong = 0
    for begin in range(0, launches, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, launches))
        for number in numbers:
            group.launch(number, number - begin)
        group.synchronize()
        wrong += sum(group.result(number - begin) != expected[number % INPUTS] for number in numbers)
    return wrong


def microseconds(group, launches):
    for _ in range(min(launches, 100)):
        group.again()
    group.synchronize()
    begin = time.perf_counter()
    for _ in range(launches):
        group.again()
    group.synchronize()
    return (time.perf_counter() - begin) / launches * 1e6


def check(case, devices, options, folder):
    """Whether the program is right on these devices; prints a line."""
    name, dim, size, params = case
    ranks = len(devices)
    source = ROOT / f"ir-examples/{name}.etir"
    etc = os.environ["ETC"]
    listed = ",".join(map(str, devices))
    title = f"{name} {dim}={size} on {listed}"
    words = [etc, "run", source, "-D", f"tp={ranks}", "--dim", f"{dim}={size}", "--device", "gpu",
             "--devices", listed, "--check", "--repeat", "20", *options.compiler.split()]
    try:
        run = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                             text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        print(f"FAILED {title}: `etc run` has not ended after {options.limit} s")
        return False
    if run.returncode != 0:
        print(f"FAILED {title}: {run.stdout}{run.stderr}")
        return False
    artifact = command.compile_program(etc, source, folder / f"{name}.{ranks}.etca", "-D",
                                       f"tp={ranks}", *options.compiler.split())
    group = Group(etcrt.Program(str(artifact)), (dim, size), devices, params(ranks, size))
    wrong = count_wrong(group, options.launches)
    print(f"{'FAILED' if wrong else 'ok    '} {title}: {wrong} of {options.launches} launches wrong, "
          f"{microseconds(group, options.timed):.2f} us for a launch", flush=True)
    return wrong == 0


def main():
    options = parse_arguments()
    available = device_count()
    places = [[0] * ranks for ranks in options.ranks]
    places += [list(range(ranks)) for ranks in options.ranks if 1 < ranks <= available]
    with tempfile.TemporaryDirectory() as folder:
        passed = [check(case, devices, options, Path(folder)) for devices in places for case in CASES]
    print(f"{passed.count(False)} of {len(passed)} failed, with {available} devices")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    command.run(main)
