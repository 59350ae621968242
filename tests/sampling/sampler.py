"""What the next token is: docs/sampling.md by sorting, and the probabilities by transformers' formulas."""

import math
from dataclasses import dataclass

import numpy as np

OCTAVE = 1 << 25
FAR = 41 * OCTAVE
COEFFICIENTS = (2147483648, 1488522224, 515881603, 119183688, 20609476, 2773769, 246789)


@dataclass
class Settings:
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0


def philox(seed, counter):
    """Philox 4x32-10 (Salmon et al., 2011) of a 64-bit key and a counter below 2^32."""
    words, mask = [counter, 0, 0, 0], 0xFFFFFFFF
    key = [seed & mask, seed >> 32 & mask]
    for _ in range(10):
        low, high = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [high >> 32 ^ words[1] ^ key[0], high & mask, low >> 32 ^ words[3] ^ key[1], low & mask]
        key = [key[0] + 0x9E3779B9 & mask, key[1] + 0xBB67AE85 & mask]
    return words


def weights(distance):
    """2^40 times 2^(-distance / 2^25), rounded down by the integer polynomial."""
    distance = distance.astype(np.uint64)
    fraction = distance % np.uint64(OCTAVE)
    value = np.full(distance.shape, COEFFICIENTS[-1], np.uint64)
    for coefficient in COEFFICIENTS[-2::-1]:
        value = np.uint64(coefficient) - (value * fraction >> np.uint64(25))
    return (value << np.uint64(9)) >> np.minimum(distance // np.uint64(OCTAVE), np.uint64(41))


def scores(logits, seen, penalty):
    """Logits behind the penalty, finite or minus infinity; `seen` has a bool for each token."""
    most = np.float32(3.4028235e38)
    with np.errstate(all="ignore"):
        x = np.where(logits > -np.inf, np.minimum(logits, most), np.float32(-np.inf))
        penalty = np.float32(penalty)
        y = np.where(x > 0, x / penalty, x * penalty)
        y = np.where(y > -np.inf, np.minimum(y, most), np.float32(-np.inf))
    return np.where(seen & (penalty != 1), y, x).astype(np.float32)


def token(logits, seen, settings, position):
    """The token at `position`, the one that the row's logits are for."""
    x = scores(logits, seen, settings.repetition_penalty)
    best = int(np.argmax(x))
    temperature = np.float32(settings.temperature)
    if not temperature >= np.float32(1e-5):
        return best
    with np.errstate(all="ignore"):
        z = (x[best] - x) * (np.float32(48408812) / temperature)
    distance = np.where(z < FAR, z, FAR).astype(np.int64)
    weight = weights(distance)
    order = np.argsort(distance, kind="stable")
    order = order[weight[order] > 0]
    if not len(order):
        return best
    distance, weight = distance[order], [int(w) for w in weight[order]]

    def up_to(count):  # with the equals of the last one
        return int(np.searchsorted(distance, distance[count - 1], side="right"))

    kept = len(order)
    if 0 < settings.top_k < len(logits):
        kept = up_to(min(kept, settings.top_k))
    if np.float32(settings.top_p) < 1:
        share = int(max(np.float32(settings.top_p), np.float32(0)) * np.float32(2.0**31))
        least = max(1, -(-sum(weight[:kept]) * share >> 31))
        sums = np.cumsum(weight[:kept], dtype=np.uint64)
        kept = up_to(int(np.searchsorted(sums, least)) + 1)
    if np.float32(settings.min_p) > 0:
        least = math.ceil(float(min(np.float32(settings.min_p), np.float32(1))) * 2**40)
        kept = sum(w >= least for w in weight[:kept])
    words = philox(settings.seed, position)
    draw = sum(weight[:kept]) * ((words[0] >> 1 << 31) + (words[1] >> 1)) >> 62
    sums = np.cumsum(weight[:kept], dtype=np.uint64)
    return int(order[np.searchsorted(sums, draw, side="right")])


def probabilities(logits, seen, settings):
    """The distribution by the formulas of transformers' logits processors, in double."""
    x = logits.astype(np.float64)
    penalty = settings.repetition_penalty
    x = np.where(seen, np.where(x < 0, x * penalty, x / penalty), x)
    x = x / settings.temperature
    if settings.top_k > 0:
        x = np.where(x < np.sort(x)[-min(settings.top_k, len(x))], -np.inf, x)
    if settings.top_p < 1:
        order = np.argsort(x, kind="stable")
        removed = np.cumsum(softmax(x[order])) <= 1 - settings.top_p
        removed[-1] = False
        x[order[removed]] = -np.inf
    if settings.min_p > 0:
        p = softmax(x)
        x = np.where(p < settings.min_p * p.max(), -np.inf, x)
    return softmax(x)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()
