#!/bin/sh
# The experts of a layer whose rows two GPUs share, in the sizes of Qwen3-30B-A3B: the rows of each rank by
# themselves against those of all ranks together, by turns. Both must give the same bytes
# (check_all_to_all.py holds both to a reference). Prints the median of a launch with its end, in milliseconds.
# Where ETC names an etc that is already built, that one is used.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for way in true false; do
  "$ETC" compile ir-examples/moe_ranks.etir -D tp=2 -D hidden_size=2048 -D num_experts=128 \
    -D num_experts_per_tok=8 -D moe_intermediate_size=768 -D rank_by_rank=$way --watchdog 10 --no-proofs \
    -o "$work/$way.etca"
done
echo "tokens  rank by rank  together"
for tokens in ${TOKENS:-33 128 512 1024 2048}; do
  for round in 1 2 3; do
    for way in true false; do
      timeout 120 "$ETC" run "$work/$way.etca" --dim tokens="$tokens" --scale 0.05 --repeat "${REPEAT:-200}" \
        --output out="$work/$way.npy" >"$work/log"
      sed -n 's/.*median \([0-9.]*\) ms.*/\1/p' "$work/log" >"$work/$way.ms"
    done
    cmp "$work/true.npy" "$work/false.npy"
    echo "$tokens  $(cat "$work/true.ms")  $(cat "$work/false.ms")"
  done
done
