#!/usr/bin/env bash
# That watched_etc.sh is silent means something only if it speaks up where a wait is missing: of a
# static kernel, and of a queue to which data decide how many tasks are pushed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect_race() {  # SOURCE ARGUMENTS...
  local source=$1
  shift
  "$here/watched_etc.sh" compile "$source" --arch host --no-proofs --debug-checks -o "$work/program.so"
  "$here/watched_etc.sh" run "$work/program.so" "$@" >"$work/log" 2>&1 || true
  grep -m1 'ThreadSanitizer: data race' "$work/log"
}

expect_race "$here/missing_wait.etir" --dim n=256 --sms 8

"$ETC" opt "$here/../../ir-examples/moe_routing.etir" --schedule dynamic --debug-checks \
  -D hidden_size=32 -D moe_intermediate_size=16 >"$work/whole.etir"
grep -v 'wait %expert_done' "$work/whole.etir" >"$work/missing.etir"
! cmp -s "$work/whole.etir" "$work/missing.etir"
ETC_INTERLEAVE=1 expect_race "$work/missing.etir" --dim tokens=9 --sms 6 --repeat 50
