"""qwen3_moe.etir, with a configuration small enough for a CPU."""

import decoder

DIM = "batch"


def make(batch, rng):
    return decoder.make("qwen3moe-tiny.json", batch, rng)
