"""llama.etir with a sliding window, and a configuration small enough for a CPU: 16 query heads of 80
elements for one KV head."""

import decoder

DIM = "batch"


def make(batch, rng, variant=None, tp=1):
    return decoder.make("mistral-tiny.json", batch, rng, variant, tp)
