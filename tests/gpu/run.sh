#!/bin/sh
# Builds the tests of the tile kernels, a group of them on each core, and runs them on this machine's
# GPU. Arguments go to the program: --time measures too. BUILD_DIR says where objects and binary go.
set -eu
cd "$(dirname "$0")"
build=${BUILD_DIR:-$(mktemp -d)}
[ -n "${BUILD_DIR:-}" ] || trap 'rm -rf "$build"' EXIT
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
# SOURCE NAME OPTION... in a line
sources() {
  echo tile_timing.cu timing  # first, since it takes longest
  echo tile_kernels.cu main
  sed -n 's/^TILE_TEST(\(.*\), "\(.*\)", \(.*\))$/tile_test.cu \1 -include \2 -DETC_TILE_TEST=\3/p' \
    tile_tests.def
}
rm -f "$build"/*.o "$build"/*.log
# shellcheck disable=SC2016  # the inner shell expands them
sources | xargs -P "$(nproc)" -L 1 sh -c '
  nvcc=$1 build=$2 source=$3 name=$4
  shift 4
  "$nvcc" -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -lineinfo -I ../../kernels -I . \
    -Xptxas -v --split-compile=0 "$@" -c "$source" -o "$build/$name.o" 2>"$build/$name.log" ||
    { cat "$build/$name.log"; exit 1; }' sh "$nvcc" "$build" || exit 4
if grep -E 'C75[0-9][0-9]' "$build"/*.log; then exit 4; fi
"$nvcc" -gencode arch=compute_90a,code=sm_90a "$build"/*.o -o "$build/tile_kernels"
timeout 300 "$build/tile_kernels" "$@"
