#!/usr/bin/env bash
# `etc`, whose programs for the host the thread sanitizer watches, whatever etc was built with: what
# it compiles is instrumented, and what it runs finds the sanitizer's runtime loaded.
#   ETC=BINARY HOST_CXX=COMPILER watched_etc.sh ARGUMENTS...
# The sanitizer does not see how the library's threads begin and end a launch. Programs with debug
# checks meet before their first task, which it does see; others are said to race from one launch to
# the next.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = run ]; then
  # shellcheck disable=SC2086
  LD_PRELOAD=$($HOST_CXX -print-file-name=libtsan.so)
  export LD_PRELOAD TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"
else
  export CXX="$HOST_CXX -fsanitize=thread -g -include $here/interleave.h"
fi
exec "$ETC" "$@"
