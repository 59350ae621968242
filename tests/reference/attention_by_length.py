"""attention_by_length.etir: a decode step's attention over paged caches, where lengths differ widely.

The cached positions of the variants: `none` has none, `even` as many of each sequence, `borders` such
about a page and about a part. Else one sequence has 3000 and the others about 100. With `few` parts (-D
parts=6) each has many pages; with a `window` (-D sliding_window=1000) the last 1000 positions attend.
"""

import numpy as np

from attention import softmax
from decoder import PAGE_SIZE, check_cache, rms_norm, rotate, sequence
from tensors import Case, Expectation, from_bf16, random_bf16, to_bf16

DIM = "batch"
HEADS, KV_HEADS, HEAD_DIM, EPS, WINDOW = 8, 2, 64, 1e-6, 1000
OPTIONS = {"few": ("-D", "parts=6"), "window": ("-D", f"sliding_window={WINDOW}")}


def cached_positions(batch, variant, rng):
    if variant == "none":
        return np.zeros(batch, np.int32)
    if variant == "even":
        return np.full(batch, 260, np.int32)
    if variant == "borders":  # one part of up to 64 positions, two of up to 128, …
        near = [64 * pages + more for pages in (1, 2, 3, 5) for more in (-1, 0, 1)]
        return np.resize(np.array(near, np.int32), batch)
    cached = rng.integers(80, 120, batch, dtype=np.int32)
    cached[batch // 2] = 3000
    return cached


def attend(q, k, v, caches, pages, position, window):
    """What each head of one sequence finds."""
    first = max(0, position + 1 - window)
    keys, values = (from_bf16(sequence(cache, pages))[:, first:position] for cache in caches)
    out = np.empty_like(q)
    for head in range(HEADS):
        h = head // (HEADS // KV_HEADS)
        weights = softmax(np.vstack([keys[h], k[h]]) @ q[head] / np.sqrt(HEAD_DIM))
        out[head] = weights @ np.vstack([values[h], v[h]])
    return out


def make(batch, rng, variant=None):
    pos = cached_positions(batch, variant, rng)
    max_pages = int(pos.max()) // PAGE_SIZE + 1
    num_pages = batch * max_pages + 3
    page_table = rng.permutation(num_pages)[: batch * max_pages].astype(np.int32)
    page_table = page_table.reshape(batch, max_pages)
    shape = (num_pages, KV_HEADS, PAGE_SIZE, HEAD_DIM)
    # What no position of a sequence holds is not read.
    caches = [np.full(shape, to_bf16(np.float32("nan"))) for _ in "kv"]
    for cache in caches:
        for pages, position in zip(page_table, pos):
            for i in range(0, position, PAGE_SIZE):
                rows = min(PAGE_SIZE, position - i)
                cache[pages[i // PAGE_SIZE], :, :rows] = random_bf16(rng, (KV_HEADS, rows, HEAD_DIM))
    qkv = random_bf16(rng, (batch, (HEADS + 2 * KV_HEADS) * HEAD_DIM))
    norms = {name: random_bf16(rng, (HEAD_DIM,), 0.1, 1.5) for name in ("q_norm", "k_norm")}
    inv_freq = (1e-4 ** (np.arange(0, HEAD_DIM, 2) / HEAD_DIM)).astype(np.float32)

    heads = from_bf16(qkv).reshape(batch, -1, HEAD_DIM)
    q, k, v = np.split(heads, [HEADS, HEADS + KV_HEADS], axis=1)
    angles = pos[:, None, None] * inv_freq.astype(np.float64)
    q = rotate(rms_norm(q, from_bf16(norms["q_norm"]), EPS), angles)
    k = rotate(rms_norm(k, from_bf16(norms["k_norm"]), EPS), angles)
    window = WINDOW if variant == "window" else int(pos.max()) + 1
    out = np.stack([attend(*each, caches, pages, position, window)
                    for *each, pages, position in zip(q, k, v, page_table, pos)])

    inputs = dict(qkv=qkv, inv_freq=inv_freq, pos=pos, page_table=page_table, k_cache=caches[0],
                  v_cache=caches[1], **norms)
    new = dict(k_cache=k, v_cache=v)
    checks = [check_new_rows(name, inputs[name], pos, page_table, rows)
              for name, rows in new.items()]
    return Case({"batch": batch, "max_pages": max_pages, "num_pages": num_pages}, inputs,
                {"out": Expectation(out.reshape(batch, -1), np.uint16, 5e-3, 5e-2)},
                checks=checks, checked=("k_cache", "v_cache"),
                options=OPTIONS.get(variant, ()))


def check_new_rows(name, before, pos, page_table, new):
    """As of the caches of one layer."""
    check = check_cache(name, before[None], pos, page_table, new[None])
    return lambda outputs: check({name: outputs[name][None]})
