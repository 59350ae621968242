"""gemm_rs.etir: a matrix product whose sums are divided among ranks. The variant is the number of ranks."""

import products_over_ranks

DIM = "m"


def make(rows, rng, variant="2"):
    # The parts of peers are rounded before they are added.
    return products_over_ranks.make(328, 224, 5e-3, rows, rng, variant)
