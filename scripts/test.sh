#!/bin/sh
# test.sh [--all | --exhaustive]: sets up, builds and tests etc. By itself, a release build and the
# tests that are not slow: unit tests, goldens, each example against its reference, a few programs on
# the emulated device. With --all, the slow tests as well, and some again in an address and
# undefined-behaviour sanitizer build, and those that run compiled programs on the host under the
# thread sanitizer. With --exhaustive, also more sizes, more SMs and longer campaigns that take the
# same paths. No level needs a GPU; tests/README.md says what each holds and how long it takes.
#
# Ends with the time of each part, the tests that took longest, and a line of totals; fails when
# anything failed. What has not run within the time of the level, or within $ETC_TEST_MINUTES, has
# failed.
set -u
cd "$(dirname "$0")/.." || exit 1
case "$*" in
  "") level=quick minutes=40 ;;
  --all) level=all minutes=80 ;;
  --exhaustive) level=exhaustive minutes=600 ;;
  *) echo "usage: $0 [--all | --exhaustive]" >&2; exit 2 ;;
esac
started=$(date +%s)
deadline=$((started + ${ETC_TEST_MINUTES:-$minutes} * 60))

passed=0
failed=0
fixed_layout=""
part=""
times=""

begin() {  # begin PART: ends the part before it
  now=$(date +%s)
  if [ -n "$part" ]; then
    times="$times  $(((now - part_started) / 60)):$(printf %02d $(((now - part_started) % 60)))  $part
"
  fi
  part=$1
  part_started=$now
  [ -z "$part" ] || echo "== $part, after $(((now - started) / 60)) minutes"
}

within_time() {  # within_time COMMAND...: ended with all that it started when the time is over
  left=$((deadline - $(date +%s)))
  [ "$left" -gt 0 ] || { echo "no time is left for: $*"; return 124; }
  timeout --kill-after=30 "$left" "$@"
}

count() {  # count NAME COMMAND...: one check
  begin "$1"
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $part"
  fi
}

configure() {  # configure PRESET [OPTION...]
  preset=$1
  shift
  cmake --preset "$preset" "$@" >"build/$preset.configure.log" 2>&1 ||
    { cat "build/$preset.configure.log"; return 1; }
}

build() {  # build PRESET [TARGET...]
  preset=$1
  shift
  configure "$preset" && within_time cmake --build "build/$preset" ${1:+--target "$@"}
}

# A build that nobody goes on with compiles several files as one, in half the time. Two files that
# clash so are said, and are no failure: the files of their target are then compiled one by one.
build_jointly() {  # build_jointly PRESET [TARGET...]
  joint=$1
  shift
  configure "$joint" -DCMAKE_UNITY_BUILD=ON -DETC_ONE_BY_ONE= && build "$joint" "$@" && return
  within_time ninja -C "build/$joint" -k 0 "$@" >/dev/null  # all but what fails
  clash=$(ninja -C "build/$joint" -n "$@" |
    sed -n 's|.*/CMakeFiles/\([^/]*\)\.dir/Unity/.*|\1|p' | sort -u | paste -sd ';' -)
  [ -n "$clash" ] || return 1
  echo "files of the $joint build clash when they are compiled as one (cmake/unity.cmake): $clash"
  configure "$joint" -DETC_ONE_BY_ONE="$clash" && build "$joint" "$@"
}

# A release build that is there already may be somebody's, who changes one file after the other.
build_release() {
  if [ -e build/release/CMakeCache.txt ]; then
    build release
  else
    build_jointly release
  fi
}

names_of() {  # names_of LOG: the tests that have a result in a log of ctest
  sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .*/\1/p' "$1" | sort
}

run_tests() {  # run_tests PRESET [CTEST OPTION...]: counts each test
  preset=$1
  shift
  begin "tests of the $preset build"
  log=build/$preset.test.log
  rm -f "$log"
  # shellcheck disable=SC2086  # a command or nothing
  within_time $fixed_layout ctest --preset "$preset" -j "$(nproc)" --output-log "$log" "$@"
  summary=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
  if [ -n "$summary" ]; then
    failed=$((failed + ${summary% *}))
    passed=$((passed + ${summary#* } - ${summary% *}))
    return
  fi
  # It was ended, or never began.
  ctest --preset "$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: \([^ ]*\).*/\1/p' | sort >"$log.all"
  names_of "$log" >"$log.run"
  good=$(grep -c '^ *[0-9]*/[0-9]* Test .* Passed ' "$log")
  total=$(wc -l <"$log.all")
  [ "$total" -gt 0 ] || total=1
  passed=$((passed + good))
  failed=$((failed + total - good))
  echo "FAILED: no result of these tests of the $preset build:"
  comm -23 "$log.all" "$log.run"
}

slowest_tests() {  # of all builds, with their seconds
  sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*/\2 \1/p' \
    build/*.test.log 2>/dev/null | sort -rn | head -20 | sed 's/^/  /'
}

mkdir -p build
rm -f build/*.test.log
begin "set-up"
within_time scripts/setup.sh || exit 1
count "formatting" scripts/format.sh --check

if [ "$level" = quick ]; then
  count "release build" build release etc_quick_tests
  run_tests release -LE slow
else
  count "release build" build_release
  if [ "$level" = all ]; then
    run_tests release -LE exhaustive
  else
    run_tests release
  fi

  # Of the address sanitizer's tests, other sizes of a model take the same paths through the compiler,
  # and more SMs and derived events through what it emits; the thread sanitizer runs these.
  if [ "$level" = all ]; then
    count "address sanitizer build" build_jointly asan etc_quick_tests mutate
    run_tests asan -LE 'sizes|exhaustive'
  else
    count "address sanitizer build" build_jointly asan
    run_tests asan -LE sizes -E 'sms132|reference.*derived'
  fi

  # gcc's thread sanitizer cannot map some of the address layouts that recent Linux randomises to.
  count "thread sanitizer build" build_jointly tsan etc groups
  fixed_layout=$(setarch -R true 2>/dev/null && echo "setarch -R")
  if [ "$level" = all ]; then
    run_tests tsan -L host -LE exhaustive
  else
    run_tests tsan -L host
  fi
fi

begin ""
echo "minutes of each part:"
printf %s "$times"
echo "seconds of the tests that took longest:"
slowest_tests
echo "after $((($(date +%s) - started + 30) / 60)) minutes:"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
