#!/bin/sh
# same_text.sh ETC SOURCE CONFIG: the constants of the source are those of the configuration.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" compile "$2" --no-proofs --stop-after emit -o "$work/own"
"$1" compile "$2" --config "$3" --no-proofs --stop-after emit -o "$work/configured"
cmp "$work/own" "$work/configured"
[ -s "$work/own" ]
