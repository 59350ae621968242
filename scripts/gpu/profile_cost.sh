#!/bin/sh
# profile_cost.sh: times decode of Qwen3-0.6B with and without a profile, by turns on one GPU, at three
# batches, and fails where a profile costs 3 % or more. Then it profiles one launch of each and prints
# the summary; the traces stay in build/profile. ETC names the compiler that is built already, and
# ETC_BEFORE another one, whose profiled artifact is timed by turns with these.
set -eu
cd "$(dirname "$0")/../.."
[ -n "${ETC:-}" ] || . scripts/gpu/build.sh
out=build/profile
mkdir -p "$out"
compile() {  # COMPILER NAME OPTION...
  compiler=$1
  name=$2
  shift 2
  timeout 600 "$compiler" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-0.6b.json --no-proofs "$@" \
    -o "$out/$name.etca"
}
compile "$ETC" plain
compile "$ETC" profiled --profile
artifacts="$out/plain.etca $out/profiled.etca"
if [ -n "${ETC_BEFORE:-}" ]; then
  compile "$ETC_BEFORE" before --profile
  artifacts="$artifacts $out/before.etca"
fi
failed=0
for batch in 1 8 32; do
  pages=$((batch * 9))
  # shellcheck disable=SC2086
  timeout 600 "$ETC" bench $artifacts --dim "batch=$batch" --dim max_pages=9 \
    --dim "num_pages=$pages" --value pos=512 --launches 200 --format json -o "$out/$batch.json"
  python3 - "$out/$batch.json" "$batch" <<'REPORT' || failed=1
import json
import sys

plain, *profiled = json.load(open(sys.argv[1]))["schedules"]
ratios = [each["median_ms"] / plain["median_ms"] for each in profiled]
print(f"batch {sys.argv[2]}: {plain['median_ms']:.4f} ms without a profile")
for name, each, ratio in zip(("with one", "with that of ETC_BEFORE"), profiled, ratios):
    print(f"  {each['median_ms']:.4f} ms {name}: {ratio:.4f}")
sys.exit(ratios[0] >= 1.03 or any(not output["equal"] for output in profiled[0]["outputs"]))
REPORT
  timeout 600 "$ETC" run "$out/profiled.etca" --dim "batch=$batch" --dim max_pages=9 --dim "num_pages=$pages" --repeat 20 \
    --profile "$out/batch_$batch.json"
done
exit $failed
