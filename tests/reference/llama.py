"""llama.etir, with a configuration small enough for a CPU."""

import decoder

DIM = "batch"


def make(batch, rng):
    return decoder.make("llama-tiny.json", batch, rng)
