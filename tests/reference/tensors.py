"""Tensors of the references: bf16 as bit patterns, seeded inputs, and comparison with what a program wrote.

numpy has no bf16, so such a tensor is a uint16 array of bit patterns, in memory and in .npy files.
"""

from dataclasses import dataclass, field

import numpy as np


def to_bf16(values):
    """Bit patterns of the nearest bf16 values, ties to even. NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def from_bf16(bits):
    """The values of bit patterns, in float64."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def random_bf16(rng, shape, scale=1.0, mean=0.0):
    return to_bf16(mean + scale * rng.standard_normal(shape, dtype=np.float32))


def random_f32(rng, shape, scale=1.0):
    return scale * rng.standard_normal(shape, dtype=np.float32)


@dataclass
class Expectation:
    """What an output should be.

    `tolerance` bounds the relative L2 error; no element may be off by more than `outlier` times the
    expectation's root mean square. A tolerance of None asks for equal bits. What is infinite is equal.
    """

    values: np.ndarray
    dtype: type
    tolerance: float | None = None
    outlier: float | None = None

    def check(self, name, actual):
        """A line of the report, and whether the output passes."""
        if actual.dtype != self.dtype or actual.shape != self.values.shape:
            return (
                f"{name}: {actual.dtype}{list(actual.shape)} was written, "
                f"{np.dtype(self.dtype)}{list(self.values.shape)} was expected",
                False,
            )
        if self.tolerance is None:
            wrong = int(np.count_nonzero(actual != self.values))
            return f"{name}: {wrong} of {actual.size} elements differ", wrong == 0
        values = from_bf16(actual) if self.dtype == np.uint16 else actual.astype(np.float64)
        finite = np.isfinite(self.values)
        wrong = ~np.isfinite(values) & (finite | (values != self.values))
        if wrong.any():
            return f"{name}: {np.count_nonzero(wrong)} of {values.size} elements are not finite", False
        if np.isfinite(values[~finite]).any():
            return f"{name}: {np.count_nonzero(~finite)} elements must be infinite, and some are not", False
        difference = values[finite] - self.values[finite]
        rms = np.sqrt(np.mean(self.values[finite]**2))
        error = np.sqrt(np.mean(difference**2)) / rms
        worst = np.max(np.abs(difference)) / rms
        outlier = 10 * self.tolerance if self.outlier is None else self.outlier
        return (
            f"{name}: relative L2 error {error:.2e} (at most {self.tolerance:.0e}), "
            f"worst element {worst:.2e} (at most {outlier:.0e})",
            bool(error <= self.tolerance and worst <= outlier),
        )


@dataclass
class Case:
    """One run of a program: its sizes, its inputs, and what it should write.

    `checks` are functions from the outputs to a list of (report line, passed), for what no fixed
    expectation says; `checked` names the outputs that only they look at. `options` are further ones of
    the compiler.
    """

    dims: dict
    inputs: dict
    expected: dict
    config: str | None = None
    checks: list = field(default_factory=list)
    checked: tuple = ()
    options: tuple = ()

    def outputs(self):
        return [*self.expected, *self.checked]
