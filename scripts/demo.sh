#!/bin/sh
# From a clone to a result: builds etc, compiles a decode step of Qwen3-0.6B to one CUDA kernel,
# and runs a small model of the same family on the host target against an independent reference.
# Where there is a GPU, runs the kernel as well.
#   scripts/demo.sh [FOLDER FOR THE RESULTS]
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/demo}

step() {
  echo
  echo "== $1"
}

step "set-up"
scripts/setup.sh

step "build"
mkdir -p build "$out"
cmake --preset release >build/release.configure.log ||
  { cat build/release.configure.log; exit 1; }
cmake --build build/release --target etc
etc=build/release/src/driver/etc
python=$(sed -n 's/^ETC_PYTHON:[A-Z]*=//p' build/release/CMakeCache.txt)

step "Qwen3-0.6B as one kernel for sm_90a"
"$etc" compile ir-examples/qwen3.etir --config ir-examples/configs/qwen3-0.6b.json --arch sm_90a \
  --save-temps -o "$out/qwen3-0.6b.cubin"
ls -l "$out"

step "what the kernel needs"
"$etc" inspect "$out/qwen3-0.6b.json" --dim batch=4 --dim max_pages=64 --dim num_pages=256

for sms in 8 132; do
  step "a small Qwen3 on the host target, $sms threads as SMs, against the reference"
  "$python" tests/reference/run.py "$etc" qwen3 3 --sms "$sms"
done

if nvidia-smi -L >/dev/null 2>&1; then
  step "the small Qwen3 on the GPU, against the reference"
  "$python" tests/reference/run.py "$etc" qwen3 3 --sms 132 -- --device gpu
  step "Qwen3-0.6B on the GPU, random weights"
  "$etc" run "$out/qwen3-0.6b.cubin" --device gpu --dim batch=4 --dim max_pages=64 --dim num_pages=256 \
    --scale 0.02 --repeat 20
else
  step "no GPU here: the kernel is compiled, not run"
fi
