#!/usr/bin/env python3
"""Times `etc check` on chains of more and more calls, and on an unrolled model.

    bench_check.py ETC [CALLS…]

Prints the time without and with proofs, the time of the proofs per call, and the memory. The calls
alternate between an element-wise operator and a reduction over a row, with an event between each
two and two buffers that are used again and again.
"""

import resource
import subprocess
import sys
import time

HEAD = """etir 1;
dim n in 1..64;
device @scale(%x: f32[n, 256], %y: out f32[n, 256]) tasks (i: n, t: 8) {
  for (k: t * 32 .. t * 32 + 32) %y[i, k] = 2.0 * %x[i, k];
}
device @norm(%x: f32[n, 256], %y: out f32[n, 256]) tasks (i: n) {
  let total = sum(k: 256) %x[i, k];
  for (k: 256) %y[i, k] = %x[i, k] / total;
}
graph @chain(%x: f32[n, 256], %y: out f32[n, 256]) {
  %a = buffer f32[n, 256];
  %b = buffer f32[n, 256];
"""


def chain(calls):
    """A program of as many calls, rounded up to a multiple of 2."""
    pairs = (calls + 1) // 2
    lines = [f"  event %s{p}[n] count 8;\n  event %m{p}[n] count 1;" for p in range(pairs)]
    for p in range(pairs):
        source = "%x" if p == 0 else "%b"
        wait = "" if p == 0 else f" wait (i, t) => %m{p - 1}[i]"
        target = "%y" if p == pairs - 1 else "%b"
        lines.append(f"  call @scale({source}, %a){wait} notify (i, t) => %s{p}[i];")
        lines.append(f"  call @norm(%a, {target}) wait (i) => %s{p}[i] notify (i) => %m{p}[i];")
    return HEAD + "\n".join(lines) + "\n}\n"


def timed(etc, text, *options):
    start = time.monotonic()
    result = subprocess.run([etc, "check", *options, "-"], input=text, text=True,
                            capture_output=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return time.monotonic() - start


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    sizes = [int(word) for word in sys.argv[2:]] or [8, 16, 32, 64, 128]
    print(f"{'calls':>6} {'verify s':>9} {'all s':>9} {'proofs ms/call':>15} {'MiB':>6}")
    for calls in sizes:
        text = chain(calls)
        verify = min(timed(sys.argv[1], text, "--no-proofs") for _ in range(3))
        both = timed(sys.argv[1], text)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{calls:6} {verify:9.3f} {both:9.3f} {(both - verify) * 1000 / calls:15.2f} "
              f"{memory:6.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
