#!/bin/sh
# Damages the examples and generated programs in some 10,000 ways and holds what `etc check` says of
# each against what is really wrong with it (docs/analysis.md, "How the proofs are tested").
#
#   mutate.sh [--dynamic] [--ranks | --indices] [MUTANTS [SEED [FOLDER]]]
#
# Saves what the proofs get wrong, and wrong programs of which nothing is proved, in FOLDER. With
# --dynamic all programs are drains, queues and hybrids, and what gives out their tasks is damaged:
# every state of small launches is visited. With --ranks generated programs are of two ranks, with
# --indices they name elements by elements of elements.
set -eu
cd "$(dirname "$0")/.."
words=
while [ "${1:-}" = --dynamic ] || [ "${1:-}" = --ranks ] || [ "${1:-}" = --indices ]; do
  words="$words $1"
  shift
done
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target mutate
folder=${3:-build/release/mutants}
mkdir -p "$folder"
rm -f "$folder"/*.etir
# shellcheck disable=SC2086
exec build/release/tests/mutation/mutate $words --mutants "${1:-10000}" --seed "${2:-1}" \
  --threads "$(nproc)" --examples ir-examples --save "$folder"
