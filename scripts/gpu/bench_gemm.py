#!/usr/bin/env python3
"""Holds the matrix product of many rows (ir-examples/gemm.etir) to a product in float32, and times it
beside PyTorch's, which is cuBLAS: with the tiles that the operator chooses for each range of rows,
or with tiles of one width. So with two products that follow each other in one kernel
(ir-examples/gemm_chain.etir), whose second reads what the first writes.

The shapes are those of one of two GPUs that share a layer's MLP: `out` is the projection back to the
hidden size, whose rows are reduced and scattered behind it, and `in` one of the projections whose rows
are gathered before it. All in one run on one card, by turns: what the tensor cores reach depends on
the power that they were given before.
"""

import argparse
import functools
import itertools
import json
import re
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import command

EXAMPLES = Path(__file__).resolve().parents[2] / "ir-examples"
CHOSEN = "chosen"
MODELS = {  # hidden, intermediate
    "LLaMA-7B": (4096, 11008),
    "LLaMA-3.1-8B": (4096, 14336),
    "Gemma-2-27B": (4608, 36864),
    "Qwen2-72B": (8192, 29568),
    "LLaMA-3.1-70B": (8192, 28672),
    "GPT-3-175B": (12288, 49152),
    "LLaMA-3.1-405B": (16384, 53248),
}
CHECKED_ROWS = (1, 17, 300, 512, 768, 1000, 1536, 2048, 3000, 4096, 8192)
SPARE_ROWS = 128  # behind the last: nothing may read or write them
CHAIN = {"N": 4096, "H": 5504, "K": 4096}
CHAIN_COLUMNS = (128, 168, 256)
CHAIN_LAUNCHES = 200
ALLOWED_ERROR = 3e-3  # in the norm; rounding to bf16 alone makes 1.7e-3


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/bench_gemm", help="folder for artifacts")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--ranks", type=int, default=2, help="GPUs that share a layer")
    parser.add_argument("--models", type=command.words, default=list(MODELS))
    parser.add_argument("--rows", type=command.integers, 
                        default=[512, 768, 1000, 1024, 1536, 2048, 4096, 8192])
    parser.add_argument("--variants", type=command.words, default=[CHOSEN],
                        help=f"`{CHOSEN}`, or the columns of all tiles")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--milliseconds", type=float, default=3.0, help="of a turn")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--compiled", action="store_true", help="artifacts are in the folder already")
    return parser.parse_args()


def shapes(options):
    """(label, columns, depth) of each product."""
    for model in options.models:
        hidden, inner = MODELS[model]
        yield f"{model} out", hidden, inner // options.ranks
        yield f"{model} in", inner // options.ranks, hidden


def artifact(options, columns, depth, variant):
    return Path(options.out) / f"gemm_{columns}_{depth}_{variant}.etca"


def chain_artifact(options, columns):
    return Path(options.out) / f"chain_{columns}.etca"


def defined(**values):
    return [word for name, value in values.items() for word in ("-D", f"{name}={value}")]


def pinned(path, columns):
    """The example with tiles of one width, the same in all ranges of rows, in a file of its own."""
    text = re.sub(r"\s+specialise \([^)]*\)", "", (EXAMPLES / "gemm.etir").read_text())
    path.write_text(text.replace("@many_rows(", f"@many_rows[columns = {columns}]("))
    return path


def compile_one(options, columns, depth, variant):
    path = artifact(options, columns, depth, variant)
    source = EXAMPLES / "gemm.etir" if variant == CHOSEN else pinned(path.with_suffix(".etir"), variant)
    command.compile_program(options.etc, source, path, *defined(N=columns, K=depth))


def compile_chain(options, columns):
    command.compile_program(options.etc, EXAMPLES / "gemm_chain.etir",
                            chain_artifact(options, columns), *defined(**CHAIN, columns=columns))


def compile_all(options):
    Path(options.out).mkdir(parents=True, exist_ok=True)
    jobs = [functools.partial(compile_chain, options, columns) for columns in CHAIN_COLUMNS]
    jobs += [functools.partial(compile_one, options, columns, depth, variant) for
             (_, columns, depth), variant in itertools.product(shapes(options), options.variants)]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda job: job(), jobs))


class Product:
    """One shape: its operands, a runtime for each variant, and the library's product."""

    def __init__(self, options, columns, depth, rows):
        import etcrt
        import torch

        self.torch = torch
        random = functools.partial(torch.randn, device="cuda", dtype=torch.bfloat16)
        self.x = random(rows + SPARE_ROWS, depth)
        self.x[rows:] = float("nan")
        self.w = random(columns, depth) * 0.02
        self.y = torch.empty(rows + SPARE_ROWS, columns, device="cuda", dtype=torch.bfloat16)
        self.runtimes = {}
        for variant in options.variants:
            runtime = etcrt.Runtime(artifact(options, columns, depth, variant))
            runtime.bind(w=self.w)
            self.runtimes[variant] = runtime

    def etc(self, variant, rows):
        runtime = self.runtimes[variant]
        runtime.bind(x=self.x[:rows], y=self.y[:rows])
        runtime.reserve()
        return runtime.launch

    def library(self, rows):
        x, y, w = self.x[:rows], self.y[:rows], self.w.t()
        return lambda: self.torch.mm(x, w, out=y)

    def wrong(self, variant, rows, reference):
        """What is wrong with a product of so many rows, in words, or nothing."""
        torch = self.torch
        self.y.fill_(float("nan"))
        spare = self.x[rows:rows + SPARE_ROWS].clone()
        self.x[rows:rows + SPARE_ROWS] = float("nan")
        self.etc(variant, rows)()
        torch.cuda.synchronize()
        self.x[rows:rows + SPARE_ROWS] = spare
        if not bool(torch.isnan(self.y[rows:]).all()):
            return "rows behind the last were written"
        return difference(self.y[:rows], reference[:rows])


def difference(made, reference):
    """How outputs differ from what they should be, in words, or nothing."""
    made = made.float()
    missing = int(made.isnan().sum())
    if missing:
        return f"{missing} outputs are missing"
    error = float((made - reference).norm() / reference.norm())
    worst = float(((made - reference).abs() - reference.abs() / 256).max())
    if error > ALLOWED_ERROR or worst > 0.02 * float(reference.std()):
        return f"the error is {error:.2e}, that of an element {worst:.2e} beyond rounding"
    return ""


def check(options, product, label):
    failures = 0
    rows = max(CHECKED_ROWS)
    reference = product.x[:rows].float() @ product.w.float().t()
    for variant, count in itertools.product(options.variants, CHECKED_ROWS):
        wrong = product.wrong(variant, count, reference)
        if wrong:
            failures += 1
            print(f"WRONG  {label} {variant} of {count} rows: {wrong}", flush=True)
    return failures


def check_chain(options, columns):
    """Two products in one kernel: right, and the same in every bit in each of many launches."""
    import etcrt
    import torch

    random = functools.partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    x = random(max(CHECKED_ROWS), CHAIN["K"])
    up, down = random(CHAIN["H"], CHAIN["K"]) * 0.02, random(CHAIN["N"], CHAIN["H"]) * 0.02
    hidden = (x.float() @ up.float().t()).bfloat16()
    reference = hidden.float() @ down.float().t()
    runtime = etcrt.Runtime(chain_artifact(options, columns))
    failures = 0
    for rows in CHECKED_ROWS:
        y = torch.full((rows, CHAIN["N"]), float("nan"), device="cuda", dtype=torch.bfloat16)
        runtime.bind(x=x[:rows], up=up, down=down, y=y)
        runtime.launch()
        wrong, first, other = difference(y, reference[:rows]), y.clone(), 0
        for _ in range(CHAIN_LAUNCHES):
            y.fill_(float("nan"))
            runtime.launch()
            other += not torch.equal(y, first)
        if wrong or other:
            failures += 1
            print(f"WRONG  chain {columns} of {rows} rows: {wrong}; {other} launches differ",
                  flush=True)
    return failures


def measure(options, product, rows):
    """Microseconds of each way, by turns in random orders: medians."""
    from timing import captured, interleaved_ms, times_ms

    runs = {variant: product.etc(variant, rows) for variant in options.variants}
    runs["cuBLAS"] = product.library(rows)
    counts, turns = {}, {}
    for name, run in runs.items():
        once = statistics.median(times_ms(run, 5))
        counts[name] = count = max(1, min(200, round(options.milliseconds / once)))
        turns[name] = captured(lambda run=run, count=count: [run() for _ in range(count)])
    times = interleaved_ms(turns, options.rounds, repetitions=1, warm_up=1)
    return {name: median * 1e3 / counts[name] for name, (median, _, _) in times.items()}


def report(label, columns, depth, rows, times):
    teraflops = {name: 2e-6 * rows * columns * depth / time for name, time in times.items()}
    best = min((time, name) for name, time in times.items() if name != "cuBLAS")[1]
    line = f"{label:20s} {rows:5d} x {columns:5d} x {depth:5d}  cuBLAS {times['cuBLAS']:8.1f} us " \
           f"{teraflops['cuBLAS']:4.0f} TF"
    for name, time in times.items():
        if name != "cuBLAS":
            mark = "*" if name == best else " "
            line += f" | {name} {time:8.1f} us {teraflops[name]:4.0f} TF " \
                    f"{times['cuBLAS'] / time:5.3f}{mark}"
    print(line, flush=True)
    return times["cuBLAS"] / times[best]


def main():
    options = parse_arguments()
    if not options.compiled:
        compile_all(options)
    if options.compile_only:
        return 0
    import torch

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; ratios are cuBLAS's time by "
          "ours", flush=True)
    failures, ratios, results = 0, [], []
    failures += sum(check_chain(options, columns) for columns in CHAIN_COLUMNS)
    for label, columns, depth in shapes(options):
        product = Product(options, columns, depth, max(*options.rows, *CHECKED_ROWS))
        failures += check(options, product, label)
        for rows in options.rows:
            times = measure(options, product, rows)
            ratios.append(report(label, columns, depth, rows, times))
            results.append({"label": label, "rows": rows, "columns": columns, "depth": depth,
                            "us": times})
        del product
        torch.cuda.empty_cache()
    checked = (len(list(shapes(options))) * len(options.variants) + len(CHAIN_COLUMNS)) * len(
        CHECKED_ROWS)
    print(f"{checked - failures} of {checked} products right; the best variant reaches "
          f"{min(ratios):.3f} to {max(ratios):.3f}, median {statistics.median(ratios):.3f}, of cuBLAS")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    command.run(main)
