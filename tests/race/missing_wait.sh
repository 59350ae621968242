#!/usr/bin/env bash
# That watched_etc.sh is silent means something only if it speaks up where a wait is missing: of a
# static kernel, of a queue to which data decide how many tasks are pushed, and of ranks, within a
# launch and from one launch to the next.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A program that lacks a wait may stand still for ever before there is a race. On a busy machine half
# of the interleavings of ranks do so, and a race takes a fifth of a second where one is found.
expect_race() {  # SOURCE ARGUMENTS...
  local source=$1
  shift
  "$here/watched_etc.sh" compile "$source" --arch host --no-proofs --debug-checks -o "$work/program.so"
  for seed in {1..30}; do
    ETC_INTERLEAVE=$seed WATCHED_OPTIONS=halt_on_error=1 timeout 3 \
      "$here/watched_etc.sh" run "$work/program.so" "$@" >"$work/log" 2>&1 || true
    if grep -m1 'ThreadSanitizer: data race' "$work/log"; then
      return
    fi
  done
  cat "$work/log"
  return 1
}

expect_race "$here/missing_wait.etir" --dim n=256 --sms 8

"$ETC" opt "$here/../../ir-examples/moe_routing.etir" --schedule dynamic --debug-checks \
  -D hidden_size=32 -D moe_intermediate_size=16 >"$work/whole.etir"
grep -v 'wait %expert_done' "$work/whole.etir" >"$work/missing.etir"
cmp -s "$work/whole.etir" "$work/missing.etir" && exit 1
expect_race "$work/missing.etir" --dim tokens=9 --sms 6 --repeat 50

all_reduce=$here/../../ir-examples/all_reduce.etir
for schedule in static dynamic; do
  "$ETC" opt "$all_reduce" -D tp=4 --schedule $schedule --debug-checks >"$work/whole.etir"
  grep -v 'wait %arrived' "$work/whole.etir" >"$work/missing.etir"
  cmp -s "$work/whole.etir" "$work/missing.etir" && exit 1
  expect_race "$work/missing.etir" --dim n=200 --sms 3 --repeat 50

  # The handshake of ranks, which is in no text.
  HOST_CXX="$HOST_CXX -DETC_NO_HANDSHAKE" \
    expect_race "$work/whole.etir" --dim n=200 --sms 3 --repeat 50
done
