#!/bin/sh
# Programs with a mesh on this machine's GPUs: check_ranks.py says what. Where ETC names an etc that is
# already built, that one is used.
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh
ETC=$(realpath "$ETC")
exec python3 -B scripts/gpu/check_ranks.py "$@"
