"""llama.etir with a configuration of Phi-3 that is small enough for a CPU: heads of 96 elements, a sliding
window, and an inner size that is an odd multiple of 32."""

import decoder

DIM = "batch"


def make(batch, rng, variant=None, tp=1):
    return decoder.make("phi3-tiny.json", batch, rng, variant, tp)
