#!/bin/sh
# Builds etc, and holds its matrix product of many rows to PyTorch's on this machine's GPU: results,
# then times by turns. Needs PyTorch in PYTHON. Where ETC names an etc that is already built, that one
# is used, and ETCRT its runtime library. Arguments go to bench_gemm.py.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

exec timeout 900 "${PYTHON:-python3}" -B scripts/gpu/bench_gemm.py --etc "$ETC" "$@"
