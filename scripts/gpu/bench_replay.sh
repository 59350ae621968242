#!/bin/sh
# bench_replay.sh [ARTIFACT DIM=VALUE... [other DIM=VALUE...]]: times launches of a program of separate
# kernels one by one and as the graph that the runtime keeps (tests/gpu/bench_replay.cpp). Without
# arguments it compiles the decode step of Qwen3-0.6B. ETC and ETCRT name the compiler and the runtime
# library that are built already; with an artifact only ETCRT is needed, and g++.
set -eu
cd "$(dirname "$0")/../.."
if [ $# = 0 ] || [ -z "${ETCRT:-}" ]; then
  . scripts/gpu/build.sh
fi
out=build/bench_replay
mkdir -p "$out"
if [ $# = 0 ]; then
  "$ETC" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-0.6b.json \
    --schedule kernels --no-proofs -o "$out/qwen3-0.6b.etca"
  set -- "$out/qwen3-0.6b.etca" batch=1 max_pages=8 num_pages=8 other batch=1 max_pages=9 num_pages=9
fi
"${CXX:-g++}" -std=c++17 -O2 -Iinclude tests/gpu/bench_replay.cpp "$ETCRT" \
  -Wl,-rpath,"$(cd "$(dirname "$ETCRT")" && pwd)" -o "$out/bench_replay"
timeout 300 "$out/bench_replay" "$@"
