#!/bin/sh
# Generates programs that are meant to be right, half of them without events, and holds what the
# commands of etc say of each against what is really wrong with it (docs/analysis.md, "How the
# proofs are tested").
#
#   generate.sh [PROGRAMS OF EACH HALF [SEED [FOLDER]]]
#
# Saves the programs that are refused, or that a command fails on, in FOLDER.
set -eu
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target generate
folder=${3:-build/release/generated}
failed=0
for events in no yes; do
  mkdir -p "$folder/$events"
  rm -f "$folder/$events"/*.etir
  build/release/tests/mutation/generate --programs "${1:-10000}" --seed "${2:-1}" \
    --events "$events" --processes "$(nproc)" --save "$folder/$events" || failed=1
done
exit $failed
