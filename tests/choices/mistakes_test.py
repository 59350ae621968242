#!/usr/bin/env python3
"""Plants mistakes into operators that leave something open, and sees that `etc check --choices`
finds each, and none in the operators as they are.

    mistakes_test.py ETC

A mistake changes what some option computes, or where it reads and writes, and leaves the option that
says what is meant as it is.
"""

import sys

import planted

# By operator: what the text has, and what stands there with a mistake. The option that is meant has
# rows = 4 and parts = 1.
MISTAKES = {
    "linear": [
        ("for (b: B, r: rows)", "for (b: B, r: min(rows, 7))"),  # rows left out
        ("let n = m * rows + r;", "let n = min(m * rows + r, m * 4 + r);"),
        ("let n = m * rows + r;", "let n = m * rows + r + rows / 4 - 1;"),
        ("let n = m * rows + r;", "let n = m * rows + (r + rows / 8) % rows % 11;"),
        ("if (n < N)", "if (n < N - rows / 8)"),
        ("if (n < N)", "if (n <= N - 4 + rows)"),  # beyond the end
        ("ceildiv(N, rows)", "N / rows"),  # no last task
        ("%residual[b, n] +", "select(rows > 4, 0.0, %residual[b, n]) +"),  # another epilogue
        ("%residual[b, n] +", "select(rows > 8, 2.0, 1.0) * %residual[b, n] +"),
        ("%residual[b, n] +", "%residual[b, n - r % 8 / 4] +"),
        ("sum(k: K) %w", "sum(k: K - rows / 8) %w"),
        ("sum(k: K) %w", "sum(k: rows / 12 .. K) %w"),
        ("%w[n, k]", "%w[n, (k + rows / 8) % K]"),
        ("%x[b, k]", "%x[b * 4 / rows, k]"),
        ("sum(k: K) %w[n, k] * %x[b, k]", "select(rows > 4, bf16(sum(k: K) %w[n, k] * %x[b, k]), sum(k: K) %w[n, k] * %x[b, k])"),
        ("= %residual[b, n] + sum(k: K) %w[n, k] * %x[b, k]",
         "= %residual[b, n] + sum(k: K) select(rows > 4, bf16(%w[n, k] * %x[b, k]), %w[n, k] * %x[b, k])"),
        ("rows: choose (4, 8, 12)", "rows: choose (4, 0)"),  # a division by zero
        ("%x[b, k];", "max(%x[b, k], select(rows > 4, 0.0, -inf));"),
    ],
    "tiled": [
        ("tiles = ceildiv(N, rows)", "tiles = ceildiv(N, 4)"),  # of another choice
        ("tiles - 1, left, rows)", "tiles - 1, min(left, 12 - rows), rows)"),
        ("left = N - (tiles - 1) * rows", "left = N - (tiles - 1) * 4"),
        ("left = N - (tiles - 1) * rows", "left = min(4, N - (tiles - 1) * rows)"),
    ],
    "norm": [
        ("p * K / parts ..", "p * K / parts + p .."),  # one between two parts left out
        (".. (p + 1) * K / parts)", ".. (p + 1) * K / parts - p)"),
        (".. (p + 1) * K / parts)", ".. min(K, (p + 1) * K / parts + parts - 1))"),  # counted twice
        ("sum(p: parts) %squares", "sum(p: max(1, parts - 1)) %squares"),
        ("sum(p: parts) %squares", "sum(p: 1) %squares"),
        ("sum(p: parts) %squares[p]", "max(p: parts) %squares[p]"),
        ("/ K + 1e-5", "/ (K - parts + 1) + 1e-5"),
        ("+ 1e-5", "+ 1e-5 * parts * parts * parts * 100.0"),
        ("%x[b, k] * %x[b, k];", "%x[b, k] * select(parts > 1, abs(%x[b, k]), %x[b, k]);"),
        ("%squares[p] =", "%squares[p] = select(parts > 1, 0.9, 1.0) *"),
        ("* scale * %weight[k]", "* select(parts > 2, 1.0, scale) * %weight[k]"),  # no norm
        ("* scale * %weight[k]", "* scale * select(parts > 2, 1.0, %weight[k])"),
        ("%x[b, k] * scale *", "select(parts > 1, bf16(%x[b, k] * scale), %x[b, k] * scale) *"),
        ("local %squares: f32[parts];", "local %squares: bf16[parts];"),
        ("for (k: K) %y", "for (k: K - parts + 1) %y"),
    ],
    "gated": [
        ("tasks (m: N / rows)", "tasks (m: N / 8)"),
        ("let n = m * rows + r;", "let n = m * rows + r / (rows / 4) * (rows / 4);"),
        ("g / (1.0 + exp(-g)) * u", "select(rows > 4, u / (1.0 + exp(-u)) * g, g / (1.0 + exp(-g)) * u)"),
        ("g / (1.0 + exp(-g)) * u", "g * u / select(rows > 4, 1.0, 1.0 + exp(-g))"),
        ("g / (1.0 + exp(-g)) * u", "select(rows > 4, g * (1.0 + erf(g * 0.70710678)) / 2.0, g / (1.0 + exp(-g))) * u"),
        ("let g = sum(k: K)", "let g = sum(k: K - rows / 8)"),
        ("let u = sum(k: K) %up[n, k]", "let u = sum(k: K) %up[n / rows * rows + (n + rows / 8) % rows, k]"),
        ("g / (1.0 + exp(-g)) * u", "select(rows > 4, bf16(g / (1.0 + exp(-g))), g / (1.0 + exp(-g))) * u"),
    ],
    "split": [
        ("(s + 1) * K / S)", "(s + 1) * K / S - s)"),
        ("sum(k: s * K / S ..", "sum(k: min(s * K / S + s, (s + 1) * K / S) .."),
        ("(s + 1) * K / S)", "min(K, (s + 1) * (K / S)))"),  # no rest
        ("sum(s: S) %p", "sum(s: S - 1) %p"),
        ("sum(s: S) %p", "max(s: S) %p"),
        ("sum(s: S) %p", "sum(s: min(S, 4)) %p"),  # of more parts than `parts` has unless somebody chooses
        ("%p: out f32[S, B, N]", "%p: out bf16[S, B, N]", "%p: f32[S, B, N]", "%p: bf16[S, B, N]", "buffer f32[parts, B, N]", "buffer bf16[parts, B, N]"),
        ("%y[b, n] = sum(s: S)", "%y[b, n] = bf16(%p[0, b, n]) + sum(s: 1..S)"),
        ("sum(s: S) %p[s, b, n]", "sum(s: S) %p[s, b, N - 1 - n]"),
        ("call @add(%p, %y);", "call @add(%p, %y);\n    call @product(%x, %x, %y);"),
        ("tasks (s: S, n: N)", "tasks (s: S, n: N - 1)"),
    ],
    "attend": [
        ("exp(%p[b, i, D] - top) * %p[b, i, D + 1];", "%p[b, i, D + 1];"),  # no largest score
        ("(sum(i: S) exp(%p[b, i, D] - top) * %p[b, i, d]) / total", "(sum(i: S) %p[b, i, d]) / total"),
        ("min(T, (i + 1) * ceildiv(T, S))", "min(T, (i + 1) * ceildiv(T, S) - i)"),
        ("i * ceildiv(T, S);", "i * (T / S);"),
        ("%p[b, i, D] = top;", "%p[b, i, D] = top * 0.5;"),
        ("* %p[b, i, d]) / total", "* %p[b, i, d])"),
        ("let top = max(i: S) %p[b, i, D];", "let top = %p[b, 0, D + 1];\n  let unused = top;",
         "exp(%p[b, i, D] - top) * %p[b, i, D + 1];", "%p[b, i, D + 1] * exp(%p[b, i, D]);"),
        ("exp(%s[b, t] - top) * %v[t, d];\n  %p", "bf16(exp(%s[b, t] - top)) * %v[t, d];\n  %p"),
        ("call @softmax_join(%p, %y);", ""),
        ("let total = sum(i: S)", "let total = sum(i: S - 1)"),
    ],
    "fused": [
        ("%a[b, k] = %x[b, k] * %weight[k]", "%a[b, k] = %x[b, k]"),  # no weight
        ("%y[b, n] = %r[b] * sum", "%y[b, n] = sum"),  # no norm
        ("%r[b] = rsqrt((sum(k: K) %x[b, k] * %x[b, k]) / K + 1e-5)", "%r[b] = rsqrt((sum(k: K) %x[b, k] * %x[b, k]) / K + 1e-2)"),
        ("%r[b] = rsqrt((sum(k: K) %x[b, k] * %x[b, k])", "%r[b] = rsqrt((sum(k: K - 1) %x[b, k] * %x[b, k])"),
        ("%a: out bf16[B, K]", "%a: out f32[B, K]", "%a: bf16[B, K]", "%a: f32[B, K]", "%a = buffer bf16", "%a = buffer f32"),
        ("%r[b] * sum(k: K) %w[n, k] * %a[b, k]", "sum(k: K) %w[n, k] * bf16(%r[b] * %a[b, k])"),
        ("%r: out f32[B]", "%r: out bf16[B]", "%r: f32[B]", "%r: bf16[B]", "%r = buffer f32", "%r = buffer bf16"),
    ],
}
CALLS = {
    "linear": ("%x: bf16[batch, 48], %w: bf16[20, 48], %z: bf16[batch, 20], %y: out bf16[batch, 20]", "%x, %w, %z, %y"),
    "tiled": ("%x: bf16[batch, 48], %w: bf16[20, 48], %y: out bf16[batch, 20]", "%x, %w, %y"),
    "norm": ("%x: bf16[batch, 48], %w: bf16[48], %y: out bf16[batch, 48]", "%x, %w, %y"),
    "gated": ("%x: bf16[batch, 48], %g: bf16[24, 48], %u: bf16[24, 48], %y: out bf16[batch, 24]", "%x, %g, %u, %y"),
    "split": ("%x: bf16[batch, 50], %w: bf16[24, 50], %y: out bf16[batch, 24]", "%x, %w, %y"),
    "attend": ("%s: f32[batch, 50], %v: bf16[50, 16], %y: out bf16[batch, 16]", "%s, %v, %y"),
    "fused": ("%x: bf16[batch, 48], %w: bf16[48], %m: bf16[24, 48], %y: out f32[batch, 24]", "%x, %w, %m, %y"),
}
# An operator begins here, helpers and all.
STARTS = {"linear": "// linear:", "tiled": "// tiled:", "norm": "// norm:", "gated": "// gated:", "split": "device @product<",
          "attend": "device @softmax_row<", "fused": "device @normed_product<"}

if __name__ == "__main__":
    sys.exit(planted.run(sys.argv[1], "operators.etir", STARTS, MISTAKES, CALLS))
