#!/bin/sh
# bench_dispatch.sh: what a ticket, a pop, a push, an early push and a counted push cost on this
# machine's GPU (tests/gpu/bench_dispatch.cu), then how long a decode step takes static and as a
# drain, and then whether 100,000 launches of a queue of as many tasks as data say are equal to the
# static kernel's in every bit (check_queues.py, with PyTorch in PYTHON). ETC and ETCRT name the
# compiler and the runtime library that are built already.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh
out=build/bench_dispatch
mkdir -p "$out"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
"$nvcc" -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Ikernels -Itests/gpu \
  tests/gpu/bench_dispatch.cu -o "$out/bench_dispatch"
timeout 120 "$out/bench_dispatch"
"$ETC" bench ir-examples/qwen3.etir --config ir-examples/configs/qwen3-0.6b.json \
  --schedules static,drain --dim batch=1 --dim max_pages=8 --dim num_pages=8
"$ETC" bench ir-examples/moe_layer.etir --config ir-examples/configs/qwen3moe-30b-a3b.json \
  --schedules static,drain,kernels --dim tokens=1024
timeout 1500 "${PYTHON:-python3}" -B scripts/gpu/check_queues.py --etc "$ETC" --out "$out"
