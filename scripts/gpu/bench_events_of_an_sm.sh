#!/bin/sh
# What a signal costs on this machine's GPU by how its event is carried: rows that go to and fro
# between two buffers in 200 calls of one kernel, each call waiting for the one before. Prints the
# times of the launches by turns; a 200th of a difference is that of a signal. Where ETC names an
# etc that is already built, that one is used, and ETCRT its runtime library.
#   bench_events_of_an_sm.sh [ROWS]
set -eu
cd "$(dirname "$0")/../.."
. scripts/gpu/build.sh

rows=${1:-64}
folder=build/results/events_of_an_sm
mkdir -p "$folder"

# The kernel with events that are realised as $1 and $2, and the second share of a round from $3.
make_kernel() {
  cat <<KERNEL
etir 1;
dim rows in 1..128;
const rounds = 100;
device @step(%x: f32[rows, 256], %y: out f32[rows, 256]) tasks (r: rows) {
  for (k: 256) %y[r, k] = -%x[r, (k + 1) % 256];
}
kernel @rounds(%a: inout f32[rows, 256]) of @rounds static {
  launch consumers 8 shared 232448;
  %b = workspace f32[rows, 256] at 0;
  event %there[rounds, rows] count 1 via $1;
  event %back[rounds, rows] count 1 via $2;
  on sm {
    repeat l in 0..rounds {
      share (r: rows) from 0 {
        wait %back[l - 1, r] if l > 0;
        run @step[r](%a, %b);
        notify %there[l, r];
      }
      share (r: rows) from $3 {
        wait %there[l, r];
        run @step[r](%b, %a);
        notify %back[l, r];
      }
    }
  }
}
KERNEL
}
make_kernel "none" "none" 0 >"$folder/none.etir"
make_kernel "shared at 0" "shared at rounds * rows" 0 >"$folder/shared.etir"
make_kernel "counter at 0" "counter at rounds * rows" 0 >"$folder/counter.etir"
make_kernel "counter at 0" "counter at rounds * rows" rows >"$folder/counter_of_others.etir"

artifacts=
for name in none shared counter counter_of_others; do
  timeout 300 "$ETC" run "$folder/$name.etir" --device gpu --check --repeat 20 --dim rows="$rows"
  timeout 300 "$ETC" compile "$folder/$name.etir" --arch sm_90a -o "$folder/$name.cubin"
  artifacts="$artifacts $folder/$name.cubin"
done
# shellcheck disable=SC2086  # a list of files
timeout 300 "$ETC" bench $artifacts --dim rows="$rows" --launches 200
