#!/bin/sh
# Holds what etc itself does for the largest program, without the toolchain, to a number of
# instructions, which does not depend on how fast or busy a machine is.
#
#   instructions.sh ETC EXAMPLES
#
# Ends with 77 where there is no valgrind.
set -u
etc=$1
examples=$2
command -v valgrind >/dev/null || exit 77
failed=0

within() {  # within MILLIONS COMMAND [OPTION...]: of the subcommand
  most=$1
  command=$2
  shift 2
  collected=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$etc" "$command" \
    "$examples/qwen3.etir" --config "$examples/configs/qwen3-32b.json" "$@" 2>&1 >/dev/null |
    sed -n 's/^.*Collected : \([0-9]*\)$/\1/p')
  millions=$((${collected:-999999999999} / 1000000))
  echo "etc $command $*: $millions million instructions, at most $most"
  [ "$millions" -le "$most" ] || failed=1
}

within 5500 check
within 2500 compile --no-proofs --stop-after emit
exit $failed
