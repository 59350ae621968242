#!/usr/bin/env python3
"""Measures how fast weights get from a checkpoint to a GPU, and how soon the first token is there.

Writes sharded checkpoints of random weights to memory (--folder). Prints the rate of plain copies from
pinned memory; what pinning takes, of new buffers and of the file's own pages; the rate of the loader by
number of threads, in a process that loads for the first time and again; and the seconds from the start
of a process to its first token. Each rate is held to that of plain copies. Needs a GPU, $ETCRT or
libetcrt on the loader's path, and numpy; 20 GB of memory beside the page cache of the files.
"""

import argparse
import ctypes
import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import command

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "python"))

import etcrt  # noqa: E402
from etcrt._library import call, library  # noqa: E402
from etcrt.decoder import Decoder, Piece  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MB = 1 << 20
SHARD = 4 << 30
PIECE, BUFFERS = 2 * MB, 40  # as the loader has them
READ_ONLY = 8  # CU_MEMHOSTREGISTER_READ_ONLY


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/upload_rate", help="folder for artifacts")
    parser.add_argument("--artifacts", help="folder of artifacts MODEL.etca that are compiled already")
    parser.add_argument("--models", type=command.words, default=["Qwen3-0.6B", "Qwen3-8B"],
                        help="the last one is loaded in all ways")
    parser.add_argument("--threads", type=command.integers, default=[4, 8, 12, 15, 0])
    parser.add_argument("--folder", default="/dev/shm", help="where checkpoints are written")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # what a fresh process does: load, token
    return parser.parse_args()


def artifact_of(options, model):
    if options.artifacts:
        return Path(options.artifacts) / f"{model.lower()}.etca"
    return command.compile_program(options.etc, ROOT / "ir-examples" / "qwen3.etir",
                                   Path(options.out) / f"{model.lower()}.etca", "--no-proofs",
                                   "--config", config_of(model))


def config_of(model):
    return ROOT / "ir-examples" / "configs" / f"{model.lower()}.json"


def tensors_of(program, tied):
    """The name and the shape of each tensor that the program needs, all of bf16."""
    for param in program.params().values():
        if not param.sources or (tied and param.sources[0] == "lm_head.weight"):
            continue
        extents = [int(extent) for extent in param.extents]
        if "{" not in param.sources[0]:
            yield param.sources[0], extents
            continue
        before, behind = param.sources[0].split("{", 1)[0], param.sources[0].split("}", 1)[1]
        for layer in range(extents[0]):
            yield f"{before}{layer}{behind}", extents[1:]


def write_shard(path, tensors, pattern):
    """Pieces of the pattern, each from another place of it on."""
    header, end = {}, 0
    for name, shape in tensors:
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb", buffering=0) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for at in range(0, end, 32 * MB):
            first = at // 32 * 7 % (32 * MB)
            file.write(pattern[first:first + min(32 * MB, end - at)])


def write_checkpoint(folder, program, config):
    import numpy as np

    values = np.random.default_rng(1).standard_normal(32 * MB, dtype=np.float32) * 0.02
    pattern = memoryview((values.view(np.uint32) >> 16).astype(np.uint16)).cast("B")
    shards, size = [[]], 0
    for name, shape in tensors_of(program, json.loads(config.read_text())["tie_word_embeddings"]):
        bytes_of = 2
        for extent in shape:
            bytes_of *= extent
        if size + bytes_of > SHARD and shards[-1]:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += bytes_of
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    with ThreadPoolExecutor(len(shards)) as pool:
        list(pool.map(lambda each: write_shard(folder / each[0], each[1], pattern), zip(names, shards)))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {
        tensor: name for name, shard in zip(names, shards) for tensor, _ in shard}}))
    (folder / "config.json").write_text(config.read_text())


class Driver:
    """The few calls of libcuda that plain copies need."""

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

    def copy(self, to, source, size, piece):
        """Seconds of copies of a piece each, one behind the other."""
        begin = time.perf_counter()
        for at in range(0, size, piece):
            self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(to.value + at),
                      ctypes.c_void_p(source + at), ctypes.c_size_t(piece), None)
        self.call("cuCtxSynchronize")
        return time.perf_counter() - begin


def plain_rate(driver, size=256 * MB):
    """GB/s from pinned memory, at once and in the loader's pieces."""
    source, to = driver.pinned(size), driver.device(size)
    rates = {}
    for piece in (size, PIECE):
        rates[piece] = max(size / driver.copy(to, source.value, size, piece) for _ in range(6)) / 1e9
        print(f"plain copies of {piece // MB} MB from pinned memory: {rates[piece]:.1f} GB/s")
    driver.call("cuMemFreeHost", source)
    driver.call("cuMemFree_v2", to)
    return max(rates.values())


def pinning(driver):
    """What the loader's buffers take, allocated by the driver or registered once they are filled."""
    begin = time.perf_counter()
    buffers = [driver.pinned(PIECE) for _ in range(BUFFERS)]
    allocated = time.perf_counter()
    for buffer in buffers:
        driver.call("cuMemFreeHost", buffer)
    freed = time.perf_counter()
    memory = mmap.mmap(-1, BUFFERS * PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory.write(bytes(BUFFERS * PIECE))
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    filled = time.perf_counter()
    places = [ctypes.c_void_p(first + i * PIECE) for i in range(BUFFERS)]
    for place in places:
        driver.call("cuMemHostRegister_v2", place, ctypes.c_size_t(PIECE), 0)
    registered = time.perf_counter()
    for place in places:
        driver.call("cuMemHostUnregister", place)
    end = time.perf_counter()
    print(f"{BUFFERS} buffers of {PIECE // MB} MB: cuMemHostAlloc {(allocated - begin) * 1e3:.1f} ms, free "
          f"{(freed - allocated) * 1e3:.1f}; cuMemHostRegister {(registered - filled) * 1e3:.1f} ms, "
          f"unregister {(end - registered) * 1e3:.1f}")


def register_file(driver, path, threads, size=2 << 30, piece=64 * MB):
    """GB/s of registering pages of a file, mapped anew, by so many threads; of copies from them; and the
    rate of both and of letting go, one after the other."""
    to, size = driver.device(piece), min(size, path.stat().st_size // piece * piece)
    with path.open("r+b") as file:  # a private mapping would be pinned as a copy
        memory = mmap.mmap(file.fileno(), size)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    places = iter(range(first, first + size, piece))
    lock = threading.Lock()
    failures = []

    def work():
        driver.use()
        while True:
            with lock:
                place = next(places, None)
            if place is None:
                return
            try:
                driver.call("cuMemHostRegister_v2", ctypes.c_void_p(place), ctypes.c_size_t(piece), READ_ONLY)
            except RuntimeError as error:
                failures.append(str(error))
                return

    begin = time.perf_counter()
    team = [threading.Thread(target=work) for _ in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    registered = time.perf_counter()
    if failures:
        print(f"registering a file's pages: {failures[0]}")
        return
    copied = sum(driver.copy(to, place, piece, piece) for place in range(first, first + size, piece))
    done = time.perf_counter()
    for place in range(first, first + size, piece):
        driver.call("cuMemHostUnregister", ctypes.c_void_p(place))
    end = time.perf_counter()
    driver.call("cuMemFree_v2", to)
    print(f"a file's pages, {threads} threads: registered at {size / (registered - begin) / 1e9:.1f} GB/s, copied "
          f"at {size / copied / 1e9:.1f}, let go at {size / (end - done) / 1e9:.1f}")


def open_device(program):
    """The driver and a context, which the first call for a device makes."""
    if program.target() != "host":
        call("etc_device_synchronize")


def load(options):
    """The same weights twice, in a process of its own."""
    log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(
        lambda user, level, text: print(text.decode().rsplit(": ", 1)[-1] if b"weights" in text else "",
                                        end=" ", flush=True))
    library().etc_set_log(log, None)
    artifact, folder, threads = options.one.split(",")[1:]
    program = etcrt.Program(artifact)
    open_device(program)
    times = []
    for _ in range(2):
        checkpoint = etcrt.Checkpoint(folder)
        begin = time.perf_counter()
        weights = etcrt.Weights(program, checkpoint, threads=int(threads))
        times.append(time.perf_counter() - begin)
        size = weights.bytes()
        begin = time.perf_counter()
        del checkpoint
        times.append(time.perf_counter() - begin)
        del weights
    library().etc_set_log(None, None)
    print(json.dumps({"bytes": size, "first": times[0], "again": times[2], "closed": times[1]}))


def first_token(options):
    """The parts of what a process takes until its first token is there."""
    artifact, folder = options.one.split(",")[1:]
    begin = time.perf_counter()
    config = json.loads((Path(folder) / "config.json").read_text())
    program = etcrt.Program(artifact)
    opened = time.perf_counter()
    open_device(program)
    ready = time.perf_counter()
    weights = etcrt.Weights(program, etcrt.Checkpoint(folder))
    loaded = time.perf_counter()
    decoder = Decoder(program, weights, config, 1, 128)
    made = time.perf_counter()
    decoder.step([Piece(0, 0, [1])])
    end = time.perf_counter()
    print(json.dumps({"artifact": opened - begin, "context": ready - opened, "weights": loaded - ready,
                      "decoder": made - loaded, "token": end - made}))


def fresh(options, *words):
    """What a process of its own says last, and the seconds that it took."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-B", __file__, "--one", ",".join(map(str, words))],
                          stdout=subprocess.PIPE, text=True, check=True)
    said, _, last = done.stdout.rpartition("{")
    return said.strip(), json.loads("{" + last), time.perf_counter() - begin


def loader_rates(options, artifact, folder, plain):
    for threads in options.threads:
        said, found, _ = fresh(options, "load", artifact, folder, threads)
        rates = [found["bytes"] / found[which] / 1e9 for which in ("first", "again")]
        print(f"loader, {threads or 'default'} threads: first {rates[0]:.1f} GB/s ({rates[0] / plain:.0%} of plain), "
              f"again {rates[1]:.1f} ({rates[1] / plain:.0%}); closing the checkpoint {found['closed'] * 1e3:.0f} ms\n"
              f"  {said}", flush=True)


def main():
    options = parse_arguments()
    if options.one:
        {"load": load, "token": first_token}[options.one.split(",")[0]](options)
        return 0
    driver = Driver()
    plain = plain_rate(driver)
    pinning(driver)
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        for model in options.models:
            artifact = artifact_of(options, model)
            folder = Path(made) / model
            folder.mkdir()
            begin = time.perf_counter()
            write_checkpoint(folder, etcrt.Program(artifact), config_of(model))
            print(f"{model}: checkpoint written in {time.perf_counter() - begin:.1f} s", flush=True)
            for _ in range(2):
                _, parts, whole = fresh(options, "token", artifact, folder)
                print(f"{model}: first token after {whole:.2f} s of a process: "
                      + ", ".join(f"{name} {seconds:.3f}" for name, seconds in parts.items()), flush=True)
        loader_rates(options, artifact, folder, plain)
        for threads in (1, 4, 16):
            register_file(driver, sorted(folder.glob("*.safetensors"))[0], threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
