#!/usr/bin/env bash
# Ranks that launch by themselves, with shares and with queues, under the thread sanitizer: right with
# the handshake, and caught without it.
#   ranks.sh ETC ROOT CXX LAUNCHES
set -euo pipefail
etc=$1 root=$2 cxx=$3 launches=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for schedule in static dynamic; do
  "$etc" compile "$root/ir-examples/all_reduce.etir" --schedule "$schedule" --arch host --stop-after emit \
    -o "$work/$schedule.h"
done

build() {  # SCHEDULE NAME ENTRY FLAGS...
  local schedule=$1 name=$2 entry=$3
  shift 3
  [ "$schedule" = static ] || set -- -DETC_TEST_QUEUE "$@"
  # What a sanitizer does not know of, the futex, orders nothing: all order is in the atomics.
  # shellcheck disable=SC2086
  $cxx -std=c++20 -O1 -g -fsanitize=thread -DENTRY="$entry" -include "$root/tests/race/interleave.h" \
    -include "$work/$schedule.h" "$@" "$root/tests/race/ranks.cpp" -o "$work/$name" -pthread
}

for schedule in static dynamic; do
  for ranks in 1 2 4; do
    build "$schedule" "ranks$ranks" "etc_all_reduce__tp_${ranks}_${ranks}"
    for n in 1 65 200; do
      ETC_INTERLEAVE=$n "$work/ranks$ranks" "$n" "$ranks" 3 "$launches"
    done
  done

  build "$schedule" mutant etc_all_reduce__tp_2_2 -DETC_NO_HANDSHAKE
  if TSAN_OPTIONS=halt_on_error=1 ETC_INTERLEAVE=1 "$work/mutant" 200 2 3 "$launches" >"$work/log" 2>&1; then
    echo "error: nobody noticed that the handshake of $schedule is gone" >&2
    exit 1
  fi
  grep -E -m1 'data race|[1-9][0-9]* wrong elements' "$work/log"
done
