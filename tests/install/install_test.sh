#!/bin/sh
# install_test.sh BUILD DEPLOY FIND_PACKAGE: installs BUILD under a prefix, moves the prefix, and
# builds and runs against it the example DEPLOY with make, and with the CMake project FIND_PACKAGE.
set -eu
build=$1
deploy=$2
find_package=$3
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
PATH=$work/prefix/bin:$PATH
pkgconfig=$(dirname "$(find "$work/prefix" -name etcrt.pc)")
export PATH PKG_CONFIG_PATH="$pkgconfig"

strict="-Wall -Wextra -Werror -pedantic"
make -s -C "$deploy" OUT="$work/make" CFLAGS="-std=c99 $strict" CXXFLAGS="-std=c++11 $strict" run
make -s -C "$deploy" OUT="$work/make" ARCH=sm_90a all
# A manifest that is gone is made again, and a library that is not there is an error at once.
rm "$work/make/row_sum-host.json"
make -s -C "$deploy" OUT="$work/make" "$work/make/row_sum-host.json"
[ -e "$work/make/row_sum-host.json" ]
! PKG_CONFIG=false make -s -C "$deploy" OUT="$work/none" all 2>"$work/none.err" || exit 1
grep -q "finds no etcrt.pc" "$work/none.err" && [ ! -e "$work/none" ]

cmake -S "$find_package" -B "$work/cmake" -DDEPLOY="$deploy" -DCMAKE_PREFIX_PATH="$work/prefix" \
  >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/cmake" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
cmake --build "$work/cmake" --target run_etcrt run_etcrt_static
# What depends on nothing that changed is not made again; what depends on the source is.
before=$(stat -c %Y.%y "$work/cmake/artifacts/row_sum.so")
cmake --build "$work/cmake" >/dev/null
[ "$before" = "$(stat -c %Y.%y "$work/cmake/artifacts/row_sum.so")" ] || { echo "made again"; exit 1; }

# The runtime alone has neither the compiler nor what it prints.
cmake --install "$build" --component runtime --prefix "$work/runtime" >/dev/null
[ ! -e "$work/runtime/bin" ] && [ -e "$work/runtime/share/doc/etcrt/LICENSE" ]
cmake --install "$build" --component compiler --prefix "$work/compiler" >/dev/null
[ -z "$(find "$work/compiler" -name 'libetcrt*')" ] && [ -e "$work/compiler/share/doc/etc/LICENSE" ]
man -l "$work/compiler/share/man/man1/etc.1" >"$work/man.txt" 2>"$work/man.err" || true
[ ! -s "$work/man.err" ] || { cat "$work/man.err"; exit 1; }

# bash completes subcommands, options and their words.
complete() {
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _etc; echo "${COMPREPLY[*]}"' \
    bash "$work/compiler/share/bash-completion/completions/etc" "$@"
}
[ "$(complete etc insp)" = inspect ]
[ "$(complete etc compile --stop-after = sch)" = schedule ]
[ "$(complete etc run --tol)" = --tolerance ]
[ "$(complete etc completion f)" = fish ]

# The same in the other shells, where they are.
if command -v zsh >/dev/null; then
  in_zsh() {
    timeout 60 zsh -f "$here/complete.zsh" "$work/compiler/share/zsh/site-functions" "$1"
  }
  [ "$(in_zsh "etc insp")" = inspect ]
  [ "$(in_zsh "etc compile --stop-after=sch")" = "compile --stop-after=schedule" ]
  [ "$(in_zsh "etc run --tol")" = "run --tolerance" ]
  [ "$(in_zsh "etc completion f")" = "completion fish" ]
else
  echo "there is no zsh: its completion is not tested"
fi
if command -v fish >/dev/null; then
  in_fish() {
    HOME=$work fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
      "$work/compiler/share/fish/vendor_completions.d/etc.fish" "$1" 2>"$work/fish.err" | cut -f1
    [ ! -s "$work/fish.err" ] || cat "$work/fish.err"
  }
  [ "$(in_fish "etc insp")" = inspect ]
  [ "$(in_fish "etc compile --stop-after sch")" = schedule ]
  [ "$(in_fish "etc run --tol")" = --tolerance ]
  [ "$(in_fish "etc completion f")" = fish ]
else
  echo "there is no fish: its completion is not tested"
fi
