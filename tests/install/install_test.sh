#!/bin/sh
# install_test.sh BUILD DEPLOY FIND_PACKAGE: installs BUILD under a prefix, moves the prefix, and
# builds and runs against it the example DEPLOY with make, and with the CMake project FIND_PACKAGE.
set -eu
build=$1
deploy=$2
find_package=$3
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

cmake -S "$find_package" -B "$work/cmake" -DDEPLOY="$deploy" -DCMAKE_PREFIX_PATH="$work/prefix" \
  >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/cmake" >/dev/null
"$work/cmake/row_sum" "$work/make/row_sum-host.bin"
