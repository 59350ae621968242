#!/bin/sh
# compile_twice.sh ETC whole|text|emit|once SOURCE [OPTION...]: compiles, and compiles again in another
# folder (whole) or emits again (text), without the toolchain, and without the proofs, on which no
# text depends; compares what came out. With emit, the first time is without the toolchain, too; with
# once there is no second time.
set -eu
etc=$1
mode=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {  # compile FOLDER OPTION...
  mkdir "$work/$1"
  cd "$work/$1"
  shift
  "$etc" compile "$@"
}

if [ "$mode" = emit ]; then
  (compile first "$@" --stop-after emit -o text)
  (compile second "$@" --no-proofs --stop-after emit -o text)
  [ -s "$work/first/text" ]
  cmp "$work/first/text" "$work/second/text"
  exit
fi
(compile first "$@" --save-temps -o program)
if [ "$mode" = once ]; then
  :  # what it wrote is looked at below
elif [ "$mode" = whole ]; then
  (compile second "$@" --save-temps -o program)
  diff -r "$work/first" "$work/second"
else
  (compile second "$@" --no-proofs --stop-after emit -o text)
  cmp "$work"/first/program.c* "$work/second/text"
fi
[ -s "$work/first/program" ]
