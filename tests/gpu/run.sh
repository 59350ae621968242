#!/bin/sh
# Builds the tests of the tile kernels and runs them on this machine's GPU. Arguments go to the
# program: --time measures too. BUILD_DIR says where the binary goes.
set -eu
cd "$(dirname "$0")"
build=${BUILD_DIR:-$(mktemp -d)}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
"$nvcc" -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -lineinfo -I ../../kernels -I . \
  -Xptxas -v --split-compile=0 tile_kernels.cu -o "$build/tile_kernels" 2>"$build/compile.log" ||
  { cat "$build/compile.log"; exit 4; }
if grep -E 'C75[0-9][0-9]' "$build/compile.log"; then exit 4; fi
timeout 120 "$build/tile_kernels" "$@"
