#!/bin/sh
# Builds etc and checks the decode step against PyTorch on this machine's GPU. Needs PyTorch and
# transformers in PYTHON. Where ETC names an etc that is already built, that one is used, and ETCRT
# its runtime library. Arguments go to check_decode.py.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

mkdir -p build/results
timeout 1800 "${PYTHON:-python3}" -B scripts/gpu/check_decode.py --etc "$ETC" \
  --json build/results/check_decode.json "$@"
