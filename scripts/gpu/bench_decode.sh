#!/bin/sh
# Builds etc and times the decode step beside PyTorch on this machine's GPU. Needs PyTorch and
# transformers in PYTHON. Where ETC names an etc that is already built, that one is used, and ETCRT
# its runtime library. Arguments go to bench_decode.py.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

mkdir -p build/results
timeout 1800 "${PYTHON:-python3}" -B scripts/gpu/bench_decode.py --etc "$ETC" \
  --json build/results/bench_decode.json "$@"
