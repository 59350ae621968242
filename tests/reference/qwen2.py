"""qwen2.etir, with a configuration small enough for a CPU, whose sizes are odd multiples of 32."""

import decoder

DIM = "batch"


def make(batch, rng, variant=None, tp=1):
    return decoder.make("qwen2-tiny.json", batch, rng, variant, tp)
