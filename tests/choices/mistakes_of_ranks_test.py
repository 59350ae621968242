#!/usr/bin/env python3
"""Plants mistakes into operators over ranks that leave something open, and sees that `etc check
--choices` finds each, and none in the operators as they are.

    mistakes_of_ranks_test.py ETC
"""

import sys

import planted

# By operator: what the text has, and what stands there with a mistake. The option that is meant has
# rows = 4, or is the first alternative.
MISTAKES = {
    "sent": [
        ("[rank, b, n] = part", "[(rank + rows / 8) % tp, b, n] = part"),  # in the order of others
        ("%slots@(to)[rank, b, n] = part", "%slots@(to)[(to + rank * (rows / 4)) % tp, b, n] = part"),
        ("@(to)[rank, b, n] = part", "@(to)[rank, b, n] = select(rows > 4 && rank == 2, 0.0, part)"),
        ("@(to)[rank, b, n] = part", "@(to)[rank, b, n] = select(rows > 4 && to == 1, 2.0, 1.0) * part"),
        ("for (to: tp) %slots@(to)", "for (to: tp) if (rows == 4 || to != rank) %slots@(to)"),
        ("for (to: tp) %slots@(to)", "for (to: tp - rows / 8) %slots@(to)"),  # a rank is left out
        ("for (to: tp) %slots@(to)", "for (to: tp + rows / 8) %slots@(to)"),  # of ranks that are none
        ("if (n < N)", "if (n < N - rank * (rows / 8))"),  # rows of some ranks left out
    ],
    "twice": [
        ("[rank, b, n % own]", "[(rank + 1) % tp, b, n % own]",  # who reads does not know of it
         "sum(r: tp) %slots[r, b, i]", "sum(r: tp) (r + 1) * %slots[r, b, i]"),
        ("%slots@(n / own)[rank, b, n % own]", "%slots@(n % tp)[rank, b, n / tp]"),  # other columns
        ("%slots@(n / own)", "%slots@(tp - 1 - n / own)"),  # of another owner
        ("= %residual[b, rank * own + i]", "= %residual[b, i]"),  # not that of its columns
        ("= %residual[b, rank * own + i] +", "="),  # no residual
        ("+ sum(r: tp) %slots[r, b, i]", "+ sum(r: 1..tp) %slots[r, b, i]"),  # a part is missing
        ("+ sum(r: tp) %slots[r, b, i]", "+ sum(r: rank + 1) %slots[r, b, i]"),
        ("+ sum(r: tp) %slots[r, b, i]", "+ tp * %slots[rank, b, i]"),  # the own part for all
        ("+ sum(r: tp) %slots[r, b, i]", "+ tp * %slots[0, b, i]"),  # that of the first rank
        ("+ sum(r: tp) %slots[r, b, i]", "+ max(r: tp) %slots[r, b, i]"),
        ("%y@(to)[b, rank * own + i] = total", "%y@(to)[b, (rank + 1) % tp * own + i] = total"),
        ("%y@(to)[b, rank * own + i] = total", "%y@(to)[b, to * own + i] = total"),  # races
        ("for (to: tp) %y@(to)[b, rank * own + i] = total", "%y@((rank + 1) % tp)[b, rank * own + i] = total"),
        ("[rank, b, n % own] = %p[b, n]", "[rank, b, n % own] = bf16(%p[b, n])"),
        ("%slots@(n / own)[rank, b, n % own]", "%slots[rank, b, n % own]"),  # sent to nobody
    ],
    "gathered": [
        ("%slots@(behind(q))[q, m, k]", "%slots@(behind(q))[tp - 2 - q, m, k]"),  # in another order
        ("%y[(rank + tp - 1 - q) % tp * M + m, n]", "%y[behind(q) * M + m, n]"),
        ("%y[rank * M + m, n]", "%y[(tp - 1 - rank) * M + m, n]"),
        ("%slots@(behind(q))[q, m, k]", "%slots@(rank)[q, m, k]"),  # of the own rows
        ("%y[(rank + tp - 1 - q) % tp * M + m, n] = sum", "if (q > 0) %y[(rank + tp - 1 - q) % tp * M + m, n] = sum"),
        ("call @product_of_own(%x, %w, %y);", ""),
    ],
}
CALLS = {
    "sent": ("%x: bf16[batch, shard 48], %w: bf16[20, shard 48], %z: bf16[batch, 20], %y: out bf16[batch, 20]", "%x, %w, %z, %y"),
    "twice": ("%x: bf16[batch, shard 48], %w: bf16[24, shard 48], %z: bf16[batch, 24], %y: out symmetric bf16[batch, 24]", "%x, %w, %z, %y"),
    "gathered": ("%x: bf16[shard batch * 3, 48], %w: bf16[shard 24, 48], %y: out bf16[batch * 3, shard 24]", "%x, %w, %y"),
}
# An operator begins here, helpers and all.
STARTS = {"sent": "// sent:", "twice": "device @part<", "gathered": "device @send_rows<"}

if __name__ == "__main__":
    sys.exit(planted.run(sys.argv[1], "operators_of_ranks.etir", STARTS, MISTAKES, CALLS))
