"""llama.etir, with a configuration small enough for a CPU."""

import decoder

DIM = "batch"


def make(batch, rng, variant=None, tp=1):
    return decoder.make("llama-tiny.json", batch, rng, variant, tp)
