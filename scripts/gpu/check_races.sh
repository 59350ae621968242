#!/bin/sh
# A small Qwen3 under compute-sanitizer's memcheck and racecheck, as one kernel and as separate
# kernels, with a batch for each kind of tile kernel. The artifacts have debug checks: racecheck
# follows their barriers (kernels/arch/sm90/barrier.cuh). Where ETC names an etc that is already built,
# that one is used.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for schedule in static kernels; do
  "$ETC" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-tiny.json \
    --schedule "$schedule" --debug-checks -o "$work/$schedule.cubin"
  for tool in memcheck racecheck; do
    for batch in 3 5 20 70; do
      timeout 300 compute-sanitizer --tool "$tool" --print-limit 10 "$ETC" run \
        "$work/$schedule.cubin" --dim batch="$batch" --dim max_pages=2 --dim num_pages=140 \
        --scale 0.3 >"$work/log" 2>&1 || true
      if grep -q 'SUMMARY: 0 \(errors\|hazards\)' "$work/log"; then
        echo "ok     $tool, $schedule, batch $batch"
      else
        failed=1
        echo "FAILED $tool, $schedule, batch $batch"
        sed 's/^/       /' "$work/log"
      fi
    done
  done
done
exit "$failed"
