#!/usr/bin/env bash
# Drains and queues under the thread sanitizer, each launch in another interleaving, compared with
# the references; those whose data decide what runs with many routings.
#   ETC=BINARY HOST_CXX=COMPILER [SCHEDULES=WORDS] dispatches.sh PYTHON INTERLEAVINGS ROUTINGS INTERLEAVINGS_OF_EACH [PROGRAM...]
# With the schedule `text` each call has that which its program says. A program is NAME:SIZE, or
# NAME:SIZE:VARIANT of its inputs; without one all of them run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$1 interleavings=$2 routings=$3 of_each=$4
shift 4
[ $# -gt 0 ] || set -- row_sum:5 mlp:13 attention:3 moe_routing:5 moe_layer:3
export ETC_INTERLEAVE=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
  IFS=: read -r name size variant <<<"$program"
  seeds=1 repeat=$interleavings
  case $name in
    moe_* | queue_of_data) seeds=$routings repeat=$of_each ;;
  esac
  for schedule in ${SCHEDULES:-drain dynamic}; do
    echo "$name $size${variant:+, $variant}, $schedule: $seeds inputs, $repeat interleavings of each"
    as=(--schedule "$schedule")
    [ "$schedule" != text ] || as=()
    "$python" -B "$here/../reference/run.py" "$here/watched_etc.sh" "$name" "$size" --sms 6 \
      ${variant:+--variant "$variant"} --seeds "$seeds" "${as[@]}" -- \
      --repeat "$repeat" >"$log" 2>&1 || { cat "$log"; exit 1; }
  done
done
