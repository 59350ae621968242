#!/bin/sh
# Builds etc, holds its decode step to PyTorch's logits, and times it beside PyTorch's on this
# machine's GPU: a table on the terminal, and as JSON and as a picture in build/results. Needs
# PyTorch, transformers and, for the picture, matplotlib in PYTHON. Where ETC names an etc that is
# already built, that one is used, and ETCRT its runtime library. Arguments go to bench_decode.py.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

python=${PYTHON:-python3}
results=build/results
mkdir -p "$results"
timeout 900 "$python" -B scripts/gpu/check_decode.py --etc "$ETC" --contexts 512 --steps 4 \
  --launches 100
timeout 1800 "$python" -B scripts/gpu/bench_decode.py --etc "$ETC" \
  --json "$results/bench_decode.json" "$@"
if "$python" -c "import matplotlib" 2>/dev/null; then
  "$python" -B scripts/gpu/plot_decode.py "$results/bench_decode.json" "$results/bench_decode.svg"
else
  echo "no picture: $python has no matplotlib; plot_decode.py draws $results/bench_decode.json elsewhere"
fi
