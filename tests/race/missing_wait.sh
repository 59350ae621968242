#!/usr/bin/env bash
# That watched_etc.sh is silent means something only if it speaks up where a wait is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/watched_etc.sh" compile "$here/missing_wait.etir" --arch host --no-proofs --debug-checks -o "$work/program.so"
"$here/watched_etc.sh" run "$work/program.so" --dim n=256 --sms 8 >"$work/log" 2>&1 || true
grep -m1 'ThreadSanitizer: data race' "$work/log"
