#!/bin/sh
# Damages the examples and generated programs in some 10,000 ways and holds what `etc check` says of
# each against what is really wrong with it (docs/analysis.md, "How the proofs are tested").
#
#   mutate.sh [MUTANTS [SEED [FOLDER]]]
#
# Saves what the proofs get wrong, and wrong programs of which nothing is proved, in FOLDER.
set -eu
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target mutate
folder=${3:-build/release/mutants}
mkdir -p "$folder"
rm -f "$folder"/*.etir
exec build/release/tests/mutation/mutate --mutants "${1:-10000}" --seed "${2:-1}" \
  --threads "$(nproc)" --examples ir-examples --save "$folder"
