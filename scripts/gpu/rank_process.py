"""A process for each rank: a worker that does what it reads from its input, a line for each call, and
what runs workers."""

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import time

import etcrt
from etcrt._library import call
from ranks import CASES, Rank

PROGRAMS = {name: params for name, _, _, params in CASES}


class Worker:
    """The rank of this process."""

    def __init__(self):
        self.group = self.rank = None

    def join(self, artifact, program, dim, size, results, device=None, **options):
        # The device is the rank's own choice, unless ranks share one.
        on_host = options.pop("host", False)
        self.group = etcrt.Group.join(artifact, device=device, **options)
        own = self.group.own_rank if self.group.own_rank is not None else 0
        place = None if on_host else own if device is None else device
        params = PROGRAMS[program](self.group.ranks, size)
        instance = ctypes.c_void_p()
        call("etc_group_instance", self.group.handle, own, ctypes.byref(instance))
        if on_host:
            call("etc_instance_set_sms", instance, 2)
        self.rank = Rank(instance, own, place, (dim, size), params, results)

    def resize(self, program, dim, size, results=1):
        self.rank = Rank(self.rank.instance, self.group.own_rank or 0, self.rank.device, (dim, size),
                         PROGRAMS[program](self.group.ranks, size), results)

    def set_dim(self, name, value):
        self.rank.set_dim(name, value)

    def bind(self, number, output=0):
        self.rank.bind(number, output)

    def launch(self, number=0, output=0, times=1):
        """With the inputs of this number; of several times each has the next number and output."""
        for i in range(times):
            self.rank.bind(number + i, output + i)
            self.group.launch()

    def again(self, times=1):
        for _ in range(times):
            self.group.launch()

    def reserve(self):
        self.group.reserve()

    def synchronize(self):
        self.group.synchronize()

    def results(self, output=0, count=1):
        return [self.rank.outputs[output + i].read().hex() for i in range(count)]

    def timed(self, launches):
        self.again(min(launches, 100))
        self.synchronize()
        begin = time.perf_counter()
        self.again(launches)
        self.synchronize()
        return (time.perf_counter() - begin) / launches * 1e6

    def free(self):
        self.rank = self.group = None

    def limit_files(self, size):
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def take_memory(self, left):
        """Leaves no piece of so many bytes of the device."""
        call("etc_device_use", ctypes.c_int32(self.rank.device))
        self.taken = []
        piece = 1 << 40
        while piece >= left:  # the driver may not have all of it in one piece
            memory = ctypes.c_void_p()
            try:
                call("etc_device_alloc", piece, ctypes.byref(memory))
                self.taken.append(memory)
            except etcrt.Error:
                piece //= 2

    def give_memory(self):
        for memory in self.taken:
            call("etc_device_free", memory)


def work():
    worker = Worker()
    for line in sys.stdin:
        words = json.loads(line)
        name = words.pop("call")
        try:
            answer = {"value": getattr(worker, name)(**words)}
        except etcrt.Error as error:
            answer = {"status": int(error.status), "error": str(error)}
        print(json.dumps(answer), flush=True)
    # Tearing down a CUDA context whose kernel hangs would hang too.
    os._exit(0)


class Wrong(Exception):
    """What did not happen as it should."""


def free_address():
    """Where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


class RankProcess:
    def __init__(self, environment=None):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})})
        self.said = b""

    def ask(self, name, **words):
        self.process.stdin.write((json.dumps({"call": name, **words}) + "\n").encode())
        self.process.stdin.flush()

    def answer(self, limit=60):
        deadline = time.monotonic() + limit
        out = self.process.stdout.fileno()
        while b"\n" not in self.said:
            if not select.select([out], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise Wrong(f"a rank has not answered within {limit} s")
            more = os.read(out, 1 << 16)
            if not more:
                raise Wrong(f"a rank has ended with exit code {self.process.wait(10)}")
            self.said += more
        line, self.said = self.said.split(b"\n", maxsplit=1)
        return json.loads(line)

    def do(self, name, **words):
        self.ask(name, **words)
        return value_of(self.answer())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()


def value_of(answer):
    if "error" in answer:
        raise Wrong(answer["error"])
    return answer["value"]


class Ranks:
    """A process for each rank, which are asked together."""

    def __init__(self, count, environments=None):
        self.all = [RankProcess(environments[i] if environments else None) for i in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in self.all:
            if rank.process.poll() is None:
                rank.end()

    def ask(self, name, **words):
        for rank in self.all:
            rank.ask(name, **words)

    def answers(self, limit=60):
        return [rank.answer(limit) for rank in self.all]

    def do(self, name, **words):
        self.ask(name, **words)
        return [value_of(answer) for answer in self.answers()]


if __name__ == "__main__":
    work()
