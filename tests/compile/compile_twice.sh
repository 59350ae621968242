#!/bin/sh
# compile_twice.sh ETC SOURCE [OPTION...]: compiles in two folders, and compares what came out.
set -eu
etc=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for run in first second; do
  mkdir "$work/$run"
  (cd "$work/$run" && "$etc" compile "$@" --save-temps -o program)
done
diff -r "$work/first" "$work/second"
[ -s "$work/first/program" ]
