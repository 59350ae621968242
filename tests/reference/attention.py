"""attention.etir: one new token for each sequence, over its own length of the cache."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16, to_bf16

DIM = "batch"
HEADS, KV_HEADS, HEAD_DIM, CAPACITY = 8, 2, 32, 200


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def make(batch, rng):
    lengths = rng.integers(1, CAPACITY + 1, batch, dtype=np.int32)
    lengths[0] = CAPACITY
    lengths[-1] = 1 if batch > 1 else CAPACITY - 1
    q = random_bf16(rng, (batch, HEADS, HEAD_DIM))
    k = random_bf16(rng, (batch, KV_HEADS, CAPACITY, HEAD_DIM))
    v = random_bf16(rng, (batch, KV_HEADS, CAPACITY, HEAD_DIM))
    out = np.empty((batch, HEADS, HEAD_DIM))
    for b, length in enumerate(lengths):
        # Nothing may come from beyond a sequence's end.
        k[b, :, length:] = v[b, :, length:] = to_bf16(np.float32("nan"))
        for head in range(HEADS):
            kv_head = head // (HEADS // KV_HEADS)
            scores = from_bf16(k[b, kv_head, :length]) @ from_bf16(q[b, head]) / np.sqrt(HEAD_DIM)
            out[b, head] = softmax(scores) @ from_bf16(v[b, kv_head, :length])
    inputs = {"q": q, "k": k, "v": v, "lengths": lengths}
    dims = {"batch": batch, "capacity": CAPACITY}
    return Case(dims, inputs, {"out": Expectation(out, np.uint16, 4e-3, 5e-2)})
