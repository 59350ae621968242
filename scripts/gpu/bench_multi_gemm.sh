#!/bin/sh
# Builds etc, and times matrix products fused with communication on this machine's GPUs beside cuBLAS and
# NCCL. Needs PyTorch in PYTHON, and as many GPUs as --ranks says (2). Where ETC names an etc that is
# already built, that one is used, and ETCRT its runtime library. Arguments go to bench_multi_gemm.py:
# with --compile-only no GPU is needed, and a later run finds the artifacts. With
# `--schedules static,drain,dynamic` each of these is checked and timed.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

exec timeout "${LIMIT:-300}" "${PYTHON:-python3}" -B scripts/gpu/bench_multi_gemm.py "$@"
