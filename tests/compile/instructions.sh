#!/bin/sh
# Holds what etc itself does for the largest program, without the toolchain, to a number of
# instructions, which does not depend on how fast or busy a machine is.
#
#   instructions.sh ETC ROOT
#
# Ends with 77 where there is no valgrind.
set -u
etc=$1
root=$2
command -v valgrind >/dev/null || exit 77
failed=0

within() {  # within MILLIONS PROGRAM COMMAND [OPTION...]: of the subcommand
  most=$1
  program=$2
  command=$3
  shift 3
  counted=$(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$etc" \
    "$command" "$root/$program" --config "$root/ir-examples/configs/qwen3-32b.json" "$@" \
    2>&1 >/dev/null | sed -n 's/,//g; s/^.*I *refs: *\([0-9]*\)$/\1/p')
  millions=$((${counted:-999999999999} / 1000000))
  echo "etc $command $program $*: $millions million instructions, at most $most"
  [ "$millions" -le "$most" ] || failed=1
}

by_hand=tests/programs/qwen3_by_hand.etir
within 1270 $by_hand check
within 312 $by_hand compile --no-proofs --stop-after emit
# With what it takes to derive the events.
within 3300 ir-examples/qwen3.etir compile --no-proofs --stop-after emit
# Of which sizes select a range.
within 2200 ir-examples/qwen3.etir sim --dim batch=1 --dim max_pages=9 --dim num_pages=9 \
  --value pos=512
exit $failed
