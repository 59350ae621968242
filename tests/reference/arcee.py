"""arcee.etir, with a configuration small enough for a CPU."""

import decoder

DIM = "batch"


def make(batch, rng):
    return decoder.make("arcee-tiny.json", batch, rng)
