#!/usr/bin/env bash
# `etc`, whose programs for the host the thread sanitizer watches, whatever etc was built with: what
# it compiles is instrumented, and what it runs finds the sanitizer's runtime loaded.
#   ETC=BINARY HOST_CXX=COMPILER [WATCHED_OPTIONS=WORDS] watched_etc.sh ARGUMENTS...
# The sanitizer does not see how the library's threads begin and end a launch, which may be others
# than those of the launch before. launch_order.h says it for the library. Only programs with debug
# checks, whose threads meet before their first task, are watched in full: in others a thread that
# begins late in a launch seems to follow those that have ended their part of it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = run ]; then
  # shellcheck disable=SC2086
  LD_PRELOAD=$($HOST_CXX -print-file-name=libtsan.so)
  export LD_PRELOAD TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 ${WATCHED_OPTIONS:-}"
else
  export CXX="$HOST_CXX -fsanitize=thread -g -include $here/interleave.h -include $here/launch_order.h"
fi
exec "$ETC" "$@"
