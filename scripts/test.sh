#!/bin/sh
# test.sh [--all]: sets up, builds and tests etc. By itself, a release build and the tests that are
# not slow: unit tests, goldens, each example against its reference, a few programs on the emulated
# device. With --all, every test that needs no GPU, again in an address and undefined-behaviour
# sanitizer build, and those that run compiled programs on the host under the thread sanitizer.
# Ends with a line of totals; fails when anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
case "$*" in
  "" | --all) ;;
  *) echo "usage: $0 [--all]" >&2; exit 2 ;;
esac
scripts/setup.sh || exit 1
started=$(date +%s)

passed=0
failed=0
fixed_layout=""
count() {  # count NAME COMMAND...: one check
  name=$1
  shift
  echo "== $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
  fi
}

build() {  # build PRESET [TARGET...]
  preset=$1
  shift
  cmake --preset "$preset" >"build/$preset.configure.log" 2>&1 ||
    { cat "build/$preset.configure.log"; return 1; }
  cmake --build "build/$preset" ${1:+--target "$@"}
}

run_tests() {  # run_tests PRESET [CTEST OPTION...]: adds ctest's own totals
  preset=$1
  shift
  echo "== tests of the $preset build"
  log=build/$preset.test.log
  # shellcheck disable=SC2086  # a command or nothing
  $fixed_layout ctest --preset "$preset" -j "$(nproc)" "$@" >"$log" 2>&1
  cat "$log"
  summary=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
  if [ -z "$summary" ]; then
    failed=$((failed + 1))
    echo "FAILED: no test of the $preset build ran"
    return
  fi
  failed=$((failed + ${summary% *}))
  passed=$((passed + ${summary#* } - ${summary% *}))
}

mkdir -p build
count "formatting" scripts/format.sh --check

if [ "$*" != --all ]; then
  count "release build" build release etc_quick_tests
  run_tests release -LE slow
else
  count "release build" build release
  run_tests release

  # The other sizes of a model take the same paths through the compiler, and more SMs and derived
  # events through what it emits; the thread sanitizer runs these.
  count "address sanitizer build" build asan
  run_tests asan -LE sizes -E 'sms132|reference.*derived'

  # gcc's thread sanitizer cannot map some of the address layouts that recent Linux randomises to.
  count "thread sanitizer build" build tsan etc
  fixed_layout=$(setarch -R true 2>/dev/null && echo "setarch -R")
  run_tests tsan -L host
fi

echo "after $((($(date +%s) - started + 30) / 60)) minutes:"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
