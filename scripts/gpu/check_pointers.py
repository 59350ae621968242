#!/usr/bin/env python3
"""Binds memory of each kind that CUDA has to a program, and holds what the runtime says of it
against what a kernel could reach: memory that fits must be accepted, and the launch on it right;
other memory must be refused by a message that names the parameter.

    check_pointers.py ARTIFACT

ARTIFACT is ir-examples/row_sum.etir, compiled. $ETCRT names libetcrt. With two devices, memory of
the other one is tried as well. Needs the CUDA driver and NumPy.
"""

import ctypes
import sys

import numpy

import etcrt

N = 1024
SHAPE = (N * 32, 128)
BYTES = SHAPE[0] * SHAPE[1] * 4
MANAGED_GLOBAL, HOST_PORTABLE, LOCATION_DEVICE, PINNED = 1, 1, 1, 1
READ_WRITE, PEER_ALREADY_ENABLED = 3, 704

cuda = ctypes.CDLL("libcuda.so.1")
handle, size, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Location(ctypes.Structure):
    _fields_ = [("type", integer), ("id", integer)]


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""
    _fields_ = [("type", integer), ("handle_types", integer), ("location", Location),
                ("win32", handle), ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""
    _fields_ = [("location", Location), ("flags", integer)]


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: error {result}")


def new(kind, name, *arguments):
    value = kind()
    call(name, ctypes.byref(value), *arguments)
    return value


def address_of(pointer):
    return ctypes.c_uint64(pointer)


def allocate(count=BYTES):
    return new(ctypes.c_uint64, "cuMemAlloc_v2", size(count)).value


def allocate_from_pool(count=BYTES):
    address = new(ctypes.c_uint64, "cuMemAllocAsync", size(count), handle(0)).value
    call("cuCtxSynchronize")
    return address


def map_side_by_side(mapped, reserved, device, access=True):
    """Reserves a range of addresses and maps allocations into the first of its pieces."""
    properties = AllocationProperties(type=PINNED, location=Location(LOCATION_DEVICE, device))
    grain = new(size, "cuMemGetAllocationGranularity", ctypes.byref(properties), integer(0)).value
    piece = -(-BYTES // 2 // grain) * grain
    base = new(ctypes.c_uint64, "cuMemAddressReserve", size(piece * reserved), size(0),
               address_of(0), ctypes.c_uint64(0)).value
    for index in range(mapped):
        part = new(ctypes.c_uint64, "cuMemCreate", size(piece), ctypes.byref(properties),
                   ctypes.c_uint64(0))
        call("cuMemMap", address_of(base + index * piece), size(piece), size(0), part,
             ctypes.c_uint64(0))
    if access:
        allowed = Access(Location(LOCATION_DEVICE, 0), READ_WRITE)
        call("cuMemSetAccess", address_of(base), size(mapped * piece), ctypes.byref(allowed),
             size(1))
    return base


def on_device(device, action):
    context = new(handle, "cuDevicePrimaryCtxRetain", integer(device))
    call("cuCtxPushCurrent_v2", context)
    value = action()
    call("cuCtxPopCurrent_v2", ctypes.byref(handle()))
    return value, context


def cases(devices):
    """Name, address, and what the message of a refusal says (None: accepted)."""
    yield "cuMemAlloc", allocate(), None
    yield "the middle of a larger one", allocate(2 * BYTES) + BYTES // 2, None
    short = allocate()
    yield "an offset that leaves too little", short + 4096, "bytes left"
    yield "a smaller allocation", allocate(BYTES // 2), "bytes left"
    freed = allocate(64 << 20)
    call("cuMemFree_v2", address_of(freed))
    yield "freed memory", freed, "which the device cannot reach"
    yield "a pool", allocate_from_pool(), None
    yield "a pool, too small", allocate_from_pool(BYTES // 2), "bytes left"
    yield "managed memory", new(ctypes.c_uint64, "cuMemAllocManaged", size(BYTES),
                                integer(MANAGED_GLOBAL)).value, None
    yield "pinned memory of the host", new(handle, "cuMemHostAlloc", size(BYTES),
                                           integer(HOST_PORTABLE)).value, None
    yield "two mappings side by side", map_side_by_side(2, 2, 0), None
    yield "a mapping with nothing behind it", map_side_by_side(1, 2, 0), "bytes left"
    pageable = numpy.zeros(BYTES, numpy.uint8)
    reaches = new(integer, "cuDeviceGetAttribute", integer(88), integer(0)).value
    yield ("pageable memory of the host", pageable.ctypes.data,
           None if reaches else "which the device cannot reach")
    if devices > 1:
        yield "another device, no access", map_side_by_side(2, 2, 1, access=False), "cannot reach"
        yield "another device, access by mapping", map_side_by_side(2, 2, 1), None
        peer, context = on_device(1, allocate)
        yield "another device's cuMemAlloc", peer, "not enabled"
        pool, _ = on_device(1, allocate_from_pool)
        yield "another device's pool", pool, "not enabled"
        result = cuda.cuCtxEnablePeerAccess(context, ctypes.c_uint(0))
        if result not in (0, PEER_ALREADY_ENABLED):
            raise RuntimeError(f"cuCtxEnablePeerAccess: error {result}")
        yield "another device's cuMemAlloc, access enabled", peer, None


def copy(to, source, count):
    call("cuMemcpy", address_of(to), address_of(source), size(count))


def verdict(run, address, values, sums):
    """None, or what is wrong: the runtime's own words where it refuses."""
    try:
        run.bind_pointer("a", address, "f32", SHAPE)
    except etcrt.Error as error:
        return str(error)
    copy(address, values.ctypes.data, BYTES)
    result = numpy.full(SHAPE[0], numpy.nan, numpy.float32)
    out = allocate(result.nbytes)
    copy(out, result.ctypes.data, result.nbytes)
    run.bind_pointer("c", out, "f32", (SHAPE[0],))
    run.set_dim("n", N)
    run.launch(0)
    call("cuCtxSynchronize")
    copy(result.ctypes.data, out, result.nbytes)
    if not numpy.allclose(result, sums, rtol=1e-4, atol=1e-4):
        return "the launch gave wrong sums"
    return None


def main():
    call("cuInit", ctypes.c_uint(0))
    call("cuCtxPushCurrent_v2", new(handle, "cuDevicePrimaryCtxRetain", integer(0)))
    devices = new(integer, "cuDeviceGetCount").value
    values = numpy.random.default_rng(1).standard_normal(SHAPE, numpy.float32)
    sums = values.sum(axis=1, dtype=numpy.float64)
    program = etcrt.Program(sys.argv[1])
    failed = 0
    for name, address, expected in cases(devices):
        said = verdict(etcrt.Runtime(program), address, values, sums)
        right = said is None if expected is None else said is not None and expected in said
        failed += not right
        print(f"{'ok    ' if right else 'FAILED'} {name}: {said or 'accepted, sums right'}")
    print(f"{failed} failed, on {devices} device{'s' if devices > 1 else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
