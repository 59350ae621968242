#!/bin/sh
# profile_cost.sh: times decode of Qwen3-0.6B with and without a profile, by turns on one GPU, at three
# batches, and fails where a profile costs 3 % or more. Then it profiles one launch of each and prints
# the summary; the traces stay in build/profile. ETC names the compiler that is built already.
set -eu
cd "$(dirname "$0")/../.."
[ -n "${ETC:-}" ] || . scripts/gpu/build.sh
out=build/profile
mkdir -p "$out"
for kind in plain profiled; do
  option=
  [ "$kind" = plain ] || option=--profile
  "$ETC" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-0.6b.json --no-proofs $option \
    -o "$out/$kind.etca"
done
failed=0
for batch in 1 8 32; do
  pages=$((batch * 9))
  "$ETC" bench "$out/plain.etca" "$out/profiled.etca" --dim "batch=$batch" --dim max_pages=9 \
    --dim "num_pages=$pages" --value pos=512 --launches 200 --format json -o "$out/$batch.json"
  python3 - "$out/$batch.json" "$batch" <<'REPORT' || failed=1
import json
import sys

plain, profiled = json.load(open(sys.argv[1]))["schedules"]
ratio = profiled["median_ms"] / plain["median_ms"]
print(f"batch {sys.argv[2]}: {plain['median_ms']:.4f} ms without, {profiled['median_ms']:.4f} ms with a profile: {ratio:.4f}")
sys.exit(ratio >= 1.03 or any(not output["equal"] for output in profiled["outputs"]))
REPORT
  "$ETC" run "$out/profiled.etca" --dim "batch=$batch" --dim max_pages=9 --dim "num_pages=$pages" --repeat 20 \
    --profile "$out/batch_$batch.json"
done
exit $failed
