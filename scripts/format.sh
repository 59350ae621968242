#!/bin/sh
# Formats every C, C++ and CUDA source. With --check it changes nothing and fails where one is not
# formatted.
set -eu
cd "$(dirname "$0")/.."

mode="-i"
case "${1:-}" in
  "") ;;
  --check) mode="--dry-run --Werror" ;;
  *) echo "usage: scripts/format.sh [--check]" >&2; exit 2 ;;
esac

# shellcheck disable=SC2086  # the mode is a list of flags
git ls-files -z -- '*.c' '*.cpp' '*.h' '*.hpp' '*.cu' '*.cuh' | xargs -0 clang-format-16 $mode
