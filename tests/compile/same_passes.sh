#!/bin/sh
# same_passes.sh ETC all|common SOURCE...: `etc opt` prints the module that `etc compile` emits code
# from, with options of all kinds or with the common ones, and each pass leaves a valid one.
set -eu
etc=$1
which=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# compare SOURCE [OPTION...]
compare() {
  "$etc" opt --verify-each "$@" -o "$folder/opt.etir"
  "$etc" compile "$@" --no-proofs --stop-after=schedule -o "$folder/compile.etir"
  if ! cmp -s "$folder/opt.etir" "$folder/compile.etir"; then
    echo "etc opt and etc compile differ: $*"
    failed=1
  fi
}

for source; do
  compare "$source"
  [ "$which" = all ] || continue
  compare "$source" --arch host
  # A mesh of several ranks has one schedule; one page has it from the operators that it imports.
  grep -qE '^mesh |many_rows_of_ranks' "$source" || compare "$source" --schedule kernels
  compare "$source" --target h100 --debug-checks
done
exit $failed
