#!/bin/sh
# sampling_cost.sh: times decode of Qwen3-0.6B with the largest logit as its token, and with a sampler that
# is greedy or draws through every filter, by turns on one GPU at four batches. ETC names the compiler that is
# built already.
set -eu
cd "$(dirname "$0")/../.."
[ -n "${ETC:-}" ] || . scripts/gpu/build.sh
out=build/sampling_cost
mkdir -p "$out"
page=ir-examples/qwen3.etir config=ir-examples/configs/qwen3-0.6b.json
"$ETC" compile $page --config $config --no-proofs -o "$out/plain.etca"
"$ETC" compile $page --config $config -D sampling=true --no-proofs -o "$out/sampled.etca"
python3 - "$out" <<'SETTINGS'
import sys

import numpy

draws = {"temperature": 0.8, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.1}
greedy = {"temperature": 0.0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
for way, settings in (("draws", draws), ("greedy", greedy)):
    for name, value in settings.items():
        numpy.save(f"{sys.argv[1]}/{way}_{name}.npy", numpy.full(128, value, numpy.float32))
SETTINGS
for batch in 1 8 32 128; do
  sizes="--dim batch=$batch --dim max_pages=9 --dim num_pages=$((batch * 9)) --value pos=512 --launches 100"
  for turn in 1 2; do
    "$ETC" bench "$out/plain.etca" $sizes --format json -o "$out/plain.$turn.json"
    for way in draws greedy; do
      top_k=50
      [ $way = draws ] || top_k=0
      inputs=
      for name in temperature top_p min_p repetition_penalty; do
        inputs="$inputs --input $name=$out/${way}_$name.npy"
      done
      "$ETC" bench "$out/sampled.etca" $sizes --dim slots=128 --dim ring=1024 --value top_k=$top_k $inputs \
        --format json -o "$out/$way.$turn.json"
    done
  done
  python3 - "$out" "$batch" <<'REPORT'
import json
import sys

ms = {way: min(json.load(open(f"{sys.argv[1]}/{way}.{turn}.json"))["schedules"][0]["median_ms"] for turn in (1, 2))
      for way in ("plain", "greedy", "draws")}
print(f"batch {sys.argv[2]}: {ms['plain']:.4f} ms without, {ms['greedy']:.4f} ms greedy and {ms['draws']:.4f} ms "
      f"with every filter: {1e3 * (ms['draws'] - ms['plain']):.1f} us")
REPORT
done
