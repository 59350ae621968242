#!/bin/sh
# Tunes the decode steps of the table in docs/results.md on this machine's GPU, and prints what each
# cell takes as the operators' formulas have it, or with --library as the library has it, and as it
# was tuned. In each cell both took turns at the end. What was found is merged in OUT/tuning.json; OUT
# is build/tuning unless given. Where ETC names an etc that is already built, that one is used.
# Arguments go to tune.py.
set -eu
cd "$(dirname "$0")/../.."
if [ -z "${ETC:-}" ]; then
  . scripts/gpu/build.sh
fi
exec "${PYTHON:-python3}" -B scripts/gpu/tune.py --etc "$ETC" --out "${OUT:-build/tuning}" "$@"
