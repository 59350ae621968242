#!/bin/sh
# A small Qwen3 under compute-sanitizer's memcheck and racecheck, as one kernel and as separate
# kernels, with a batch for each kind of tile kernel, and a small layer of experts. The artifacts have
# debug checks: racecheck follows their barriers (kernels/arch/sm90/barrier.cuh). An artifact of several
# cubins is looked through for each kernel, so what the driver does not find is no error. Where ETC names
# an etc that is already built, that one is used.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# check NAME ARTIFACT [OPTION of etc run...]
check() {
  name=$1 artifact=$2
  shift 2
  for tool in memcheck racecheck; do
    if timeout 300 compute-sanitizer --tool "$tool" --report-api-errors no --print-limit 10 "$ETC" \
      run "$artifact" --scale 0.3 "$@" >"$work/log" 2>&1 &&
      grep -q 'SUMMARY: 0 \(errors\|hazards\)' "$work/log"; then
      echo "ok     $tool, $name"
    else
      failed=1
      echo "FAILED $tool, $name"
      sed 's/^/       /' "$work/log"
    fi
  done
}

for schedule in static kernels; do
  "$ETC" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-tiny.json \
    --schedule "$schedule" --debug-checks -o "$work/$schedule.cubin"
  for batch in 3 5 20 70; do
    check "qwen3, $schedule, batch $batch" "$work/$schedule.cubin" \
      --dim batch="$batch" --dim max_pages=2 --dim num_pages=140
  done
done
for schedule in static kernels; do
  "$ETC" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-tiny.json \
    --schedule "$schedule" --tuning tests/emulator/batch_tile.json --target h200 --debug-checks \
    -o "$work/batch_tile.cubin"
  check "qwen3, $schedule, batch 70 as rows" "$work/batch_tile.cubin" --dim batch=70 \
    --dim max_pages=2 --dim num_pages=140
done
"$ETC" compile ir-examples/moe_layer.etir --schedule static --debug-checks -o "$work/experts.cubin"
for tokens in 3 20 300; do
  check "moe_layer, $tokens tokens" "$work/experts.cubin" --dim tokens="$tokens"
done
exit "$failed"
