#!/bin/sh
# Builds etc and runs every test that needs a GPU (sm_90a). Where ETC names an etc that is already
# built, that one is used and nothing is set up. Where PYTHON (or python3) has PyTorch, the decode
# step is checked against it too. Ends with a line of totals.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh
set +e

python=python3
"$python" -c "import numpy" 2>/dev/null || python=/usr/bin/python3

passed=0
failed=0
check() {  # check NAME COMMAND...
  name=$1
  shift
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
    echo "ok     $name"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    echo "$output" | sed 's/^/       /'
  fi
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 5
"$ETC" doctor

# The tile kernels, each against a reference on the CPU.
check "tile kernels" tests/gpu/run.sh

# The program that etc bench measures the bandwidth with.
check "streaming reads" "$ETC" run src/bench/bandwidth.etir --device gpu --dim n=140 --check

# The examples, against the references that the host target is held to. One SM finds what depends
# on concurrency by its absence, many find it by its presence.
for sms in 1 7 132; do
  for size in 1 2 5; do
    for name in row_sum mlp attention attention_by_length qwen3 llama moe_routing; do
      check "$name of size $size on $sms SMs" \
        "$python" tests/reference/run.py "$ETC" "$name" "$size" --sms "$sms" -- --device gpu
    done
  done
done

# Memory of each kind, as far as the driver's answers are what the runtime takes them for.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if "$ETC" compile ir-examples/row_sum.etir -o "$work/row_sum.cubin"; then
  check "memory of each kind" "$python" -B scripts/gpu/check_pointers.py "$work/row_sum.cubin"
fi

check "steps that draw" env ETC_DEVICE= "$python" -B tests/sampling/steps_test.py
check "debug checks" "$python" -B scripts/gpu/check_debug.py --etc "$ETC"
check "compute-sanitizer" scripts/gpu/check_races.sh
check "ranks" scripts/gpu/check_ranks.sh
check "queues of ranks" scripts/gpu/check_ranks.sh --compiler "--schedule dynamic"
check "ranks that fail" "$python" -B scripts/gpu/check_faults.py
if [ "$(nvidia-smi -L | wc -l)" -gt 1 ]; then
  check "commands of one rank" env ETC_DEVICE= "$python" -B tests/python/processes_test.py
  check "both ways of an all-to-all" "$python" -B scripts/gpu/check_all_to_all.py -- --device gpu
fi

if "${PYTHON:-python3}" -c "import torch, transformers" 2>/dev/null; then
  check "the decode step against PyTorch" scripts/gpu/check_decode.sh
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
