#!/usr/bin/env python3
"""Measures how fast weights get from a checkpoint to a GPU, and how soon the first token is there.

Writes sharded checkpoints of random weights to memory (--folder). Prints the rate of plain copies from
pinned memory; what pinning takes, of new buffers and of the file's own pages; the rate of the loader by
number of threads, packing on the host and on the device, in a process that loads for the first time and
again; and the seconds from the start of a process to its first token. Each rate is held to that of plain
copies. Compares what host and device make of the weights, byte by byte, for the smallest model also from
f16 and f32 of random bits; ends with 1 where they differ. --brief leaves out packing on the host, pinning,
and a driver without its cache. Needs a GPU, $ETCRT or libetcrt on the
loader's path, and numpy; 20 GB of memory beside the page cache of the files, and twice the largest
model's memory on the GPU.
"""

import argparse
import ctypes
import json
import math
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
from cuda_calls import Allocator, Driver

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "python"))

import etcrt  # noqa: E402
from etcrt._library import call, library  # noqa: E402
from etcrt.decoder import Decoder, Piece  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MB = 1 << 20
SHARD = 4 << 30
PIECE, BUFFERS = 16 * MB, 4  # as the loader has them
STREAMS = 4
DTYPE_BYTES = {"BF16": 2, "F16": 2, "F32": 4}
READ_ONLY = 8  # CU_MEMHOSTREGISTER_READ_ONLY


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/upload_rate", help="folder for artifacts")
    parser.add_argument("--artifacts", help="folder of artifacts MODEL.etca that are compiled already")
    parser.add_argument("--models", type=command.words, default=["Qwen3-0.6B", "Qwen3-8B"],
                        help="the last one is loaded in all ways")
    parser.add_argument("--threads", type=command.integers, default=[4, 8, 12, 15, 0])
    parser.add_argument("--brief", action="store_true", help="rates of packing on the device alone")
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


def bytes_of(shape, dtype):
    return DTYPE_BYTES[dtype] * math.prod(shape)


def write_shard(path, tensors, dtype, pattern):
    """Pieces of the pattern, each from another place of it on."""
    header, end = {}, 0
    for name, shape in tensors:
        size = bytes_of(shape, dtype)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb", buffering=0) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for at in range(0, end, 32 * MB):
            first = at // 32 * 7 % (32 * MB)
            file.write(pattern[first:first + min(32 * MB, end - at)])


def pattern_of(dtype):
    """64 MB: weights in bf16, else random bits, NaNs and infinities among them."""
    import numpy as np

    random = np.random.default_rng(1)
    if dtype != "BF16":
        return memoryview(random.bytes(64 * MB))
    values = random.standard_normal(32 * MB, dtype=np.float32) * 0.02
    return memoryview((values.view(np.uint32) >> 16).astype(np.uint16)).cast("B")


def write_checkpoint(folder, program, config, dtype="BF16"):
    pattern = pattern_of(dtype)
    shards, size = [[]], 0
    for name, shape in tensors_of(program, json.loads(config.read_text())["tie_word_embeddings"]):
        size_of = bytes_of(shape, dtype)
        if size + size_of > SHARD and shards[-1]:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += size_of
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    with ThreadPoolExecutor(len(shards)) as pool:
        list(pool.map(lambda each: write_shard(folder / each[0], each[1], dtype, pattern),
                      zip(names, shards)))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {
        tensor: name for name, shard in zip(names, shards) for tensor, _ in shard}}))
    (folder / "config.json").write_text(config.read_text())


def plain_rate(driver, size=256 * MB):
    """GB/s from pinned memory, at once and in pieces, in one stream and in as many as the loader has."""
    source, to = driver.pinned(size), driver.device(size)
    streams = [driver.stream() for _ in range(STREAMS)]
    best = 0
    for piece in (size, 4 * MB, PIECE):
        for used in ((None,), streams)[:1 if piece == size else 2]:
            rate = max(size / driver.copy(to, source.value, size, piece, used) for _ in range(6)) / 1e9
            best = max(best, rate)
            print(f"plain copies of {piece // MB} MB from pinned memory, {len(used)} streams: {rate:.1f} GB/s")
    for stream in streams:
        driver.call("cuStreamDestroy_v2", stream)
    driver.call("cuMemFreeHost", source)
    driver.call("cuMemFree_v2", to)
    return best


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
    artifact, folder, threads, way = options.one.split(",")[1:]
    program = etcrt.Program(artifact)
    open_device(program)
    times = []
    for _ in range(2):
        checkpoint = etcrt.Checkpoint(folder)
        begin = time.perf_counter()
        weights = etcrt.Weights(program, checkpoint, threads=int(threads), pack_on_host=way == "host")
        times.append(time.perf_counter() - begin)
        size = weights.bytes()
        begin = time.perf_counter()
        del checkpoint
        times.append(time.perf_counter() - begin)
        del weights
    library().etc_set_log(None, None)
    print(json.dumps({"bytes": size, "first": times[0], "again": times[2], "closed": times[1]}))


def compare(options):
    """What the host and the device make of the same weights, parameter by parameter."""
    import numpy as np

    artifact, folder = options.one.split(",")[1:]
    program = etcrt.Program(artifact)
    open_device(program)
    driver = Driver()
    allocator = Allocator(driver)
    call("etc_set_allocator", ctypes.byref(allocator))
    checkpoint = etcrt.Checkpoint(folder)
    ways, loaded = [], []
    for on_host in (True, False):
        before = set(allocator.sizes)
        loaded.append(etcrt.Weights(program, checkpoint, pack_on_host=on_host))
        ways.append([(data, size) for data, size in allocator.sizes.items() if data not in before])
    if [size for _, size in ways[0]] != [size for _, size in ways[1]]:
        raise RuntimeError("the host and the device leave memory of different sizes")
    block = 64 * MB
    pinned = [driver.pinned(block) for _ in ways]
    seen = [np.ctypeslib.as_array((ctypes.c_uint8 * block).from_address(data.value)) for data in pinned]
    different, size = 0, 0
    for (host, bytes_there), (device, _) in zip(*ways):
        for at in range(0, bytes_there, block):
            part = min(block, bytes_there - at)
            for to, source in zip(pinned, (host, device)):
                driver.call("cuMemcpyDtoH_v2", to, ctypes.c_uint64(source + at), ctypes.c_size_t(part))
            different += int(np.count_nonzero(seen[0][:part] != seen[1][:part]))
            size += part
    del loaded
    call("etc_set_allocator", None)
    print(json.dumps({"bytes": size, "different": different, "left": len(allocator.sizes)}))


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


def fresh(options, *words, **environment):
    """What a process of its own says last, and the seconds that it took."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-B", __file__, "--one", ",".join(map(str, words))],
                          stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **environment})
    said, _, last = done.stdout.rpartition("{")
    return said.strip(), json.loads("{" + last), time.perf_counter() - begin


def loader_rate(options, artifact, folder, plain, threads, way, **environment):
    said, found, _ = fresh(options, "load", artifact, folder, threads, way, **environment)
    rates = [found["bytes"] / found[which] / 1e9 for which in ("first", "again")]
    print(f"packing on the {way}, {threads or 'default'} threads: first {rates[0]:.1f} GB/s "
          f"({rates[0] / plain:.0%} of plain), again {rates[1]:.1f} ({rates[1] / plain:.0%}); closing "
          f"the checkpoint {found['closed'] * 1e3:.0f} ms\n  {said}", flush=True)


def loader_rates(options, artifact, folder, plain):
    for threads in options.threads:
        for way in ("device",) if options.brief else ("host", "device"):
            loader_rate(options, artifact, folder, plain, threads, way)
    if options.brief:
        return
    print("without what the driver keeps of compiled kernels:")
    loader_rate(options, artifact, folder, plain, 0, "device", CUDA_CACHE_DISABLE="1")


def alike(options, artifact, folder, name):
    """Whether host and device make the same bytes, and whether all memory came back."""
    _, found, _ = fresh(options, "compare", artifact, folder)
    print(f"{name}: {found['different']} of {found['bytes']} bytes differ between host and device, "
          f"{found['left']} allocations were left", flush=True)
    return found["different"] == 0 and found["left"] == 0


def converted_alike(options, artifact, model, folder):
    good = True
    for dtype in ("F16", "F32"):
        with tempfile.TemporaryDirectory(dir=folder) as made:
            write_checkpoint(Path(made), etcrt.Program(artifact), config_of(model), dtype)
            good &= alike(options, artifact, made, f"{model} from {dtype}")
    return good


def main():
    options = parse_arguments()
    if options.one:
        {"load": load, "token": first_token, "compare": compare}[options.one.split(",")[0]](options)
        return 0
    driver = Driver()
    plain = plain_rate(driver)
    if not options.brief:
        pinning(driver)
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        for model in options.models:
            artifact = artifact_of(options, model)
            folder = Path(made) / model
            folder.mkdir()
            begin = time.perf_counter()
            write_checkpoint(folder, etcrt.Program(artifact), config_of(model))
            print(f"{model}: checkpoint written in {time.perf_counter() - begin:.1f} s", flush=True)
            good &= alike(options, artifact, folder, model)
            if model == options.models[0]:
                good &= converted_alike(options, artifact, model, made)
            for _ in range(2):
                _, parts, whole = fresh(options, "token", artifact, folder)
                print(f"{model}: first token after {whole:.2f} s of a process: "
                      + ", ".join(f"{name} {seconds:.3f}" for name, seconds in parts.items()), flush=True)
        loader_rates(options, artifact, folder, plain)
        for threads in () if options.brief else (1, 4, 16):
            register_file(driver, sorted(folder.glob("*.safetensors"))[0], threads)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
