"""ag_gemm.etir: a matrix product of rows that are divided among ranks. The variant is the number of
ranks."""

import products_over_ranks

DIM = "m"


def make(rows, rng, variant="2"):
    return products_over_ranks.make(352, 200, 3e-3, rows, rng, variant)
