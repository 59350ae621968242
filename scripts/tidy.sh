#!/bin/sh
# Runs clang-tidy over every C++ source of the release build, or over the files that are named.
# Kernels, which two tests of the emulator compile, are CUDA and left out. Installs clang-tidy where
# it is missing; takes some minutes.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh
if ! command -v clang-tidy-16 >/dev/null; then
  echo "installing clang-tidy-16"
  if [ "$(id -u)" = 0 ]; then root=""; else root=sudo; fi
  $root apt-get install -qq -y --no-install-recommends clang-tidy-16 >/dev/null
fi
cmake --preset release >/dev/null
cmake --build build/release --target etc_builtin_headers >/dev/null
if [ $# = 0 ]; then
  # shellcheck disable=SC2046  # names of our own files have no spaces
  set -- $(git ls-files 'src/*.cpp' 'tests/*.cpp' ':!tests/emulator/emulator_test.cpp' \
    ':!tests/emulator/tile_kernels.cpp')
fi
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" clang-tidy-16 -p build/release --quiet
