#!/usr/bin/env bash
# Queues of ranks under the thread sanitizer, each launch in another interleaving: no race, and the
# bits of the schedule `static` behind every fourth launch.
#   ETC=BINARY HOST_CXX=COMPILER rank_queues.sh PROCESSES
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
processes=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {  # FILE RANKS SMS WORDS...
  local file=$1 ranks=$2 sms=$3
  shift 3
  "$ETC" run "$file" -D tp="$ranks" --schedule static --sms "$sms" "$@" >"$work/expected"
  "$here/watched_etc.sh" compile "$file" -D tp="$ranks" --schedule dynamic --arch host --debug-checks \
    --watchdog 60 -o "$work/queues.etca"
  for ((seed = 1; seed <= processes; ++seed)); do
    if ! ETC_INTERLEAVE=$seed "$here/watched_etc.sh" run "$work/queues.etca" --sms "$sms" --repeat 4 "$@" >"$work/log" 2>&1 ||
      ! grep -v '^4 launches' "$work/log" | cmp -s "$work/expected"; then
      echo "error: $file, $ranks ranks, seed $seed" >&2
      cat "$work/log" >&2
      exit 1
    fi
  done
  echo "$file, $ranks ranks: $((4 * processes)) interleavings"
}

check "$root/ir-examples/mlp_tp.etir" 2 3 --dim rows=5
check "$root/ir-examples/all_reduce.etir" 4 2 --dim n=200
check "$root/tests/golden/run/mesh_queues.etir" 3 2 --dim n=5
