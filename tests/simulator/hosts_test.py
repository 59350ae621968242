#!/usr/bin/env python3
"""docs/multi-gpu.md has what `etc sim --hosts` says of steps whose ranks are on several hosts.

    hosts_test.py ETC ROOT            the test
    hosts_test.py ETC ROOT --table    prints the table for docs/multi-gpu.md
"""

import json
import subprocess
import sys
from pathlib import Path

# Sizes that 64 ranks can share, nearly those of the model.
MODELS = {
    "Qwen3-32B": ("qwen3", "qwen3-32b", {"intermediate_size": 26624, "vocab_size": 163840}),
    "Llama-3.1-405B": ("llama", "llama-3.1-8b", {
        "hidden_size": 16384, "num_hidden_layers": 126, "num_attention_heads": 128,
        "intermediate_size": 53248, "vocab_size": 131072,
    }),
}
HOSTS = ((1, 8), (2, 8), (4, 8), (8, 8), (16, 4), (64, 1))  # and the GPUs of each
# NCCL sums up by itself, so the kernel has no owners.
TO_ALL = {"rows_owned_from": 10**9, "columns_owned_from": 10**9}
BATCHES = (1, 8, 32)


def milliseconds(etc, root, model, hosts, gpus, batch):
    source, config, constants = MODELS[model]
    constants = {**constants, "tp": hosts * gpus, **(TO_ALL if hosts > 1 else {})}
    out = subprocess.run(
        [etc, "sim", root / f"ir-examples/{source}.etir", "--config",
         root / f"ir-examples/configs/{config}.json",
         *(f"-D{name}={value}" for name, value in constants.items()), f"--hosts={hosts}",
         f"--dim=batch={batch}", "--dim=max_pages=9", f"--dim=num_pages={9 * batch}",
         "--value=pos=512", "--json"],
        check=True, stdout=subprocess.PIPE,
    )
    return json.loads(out.stdout)["kernels"][0]["us"] / 1000


def table(etc, root):
    lines = ["| ms | batch | " + " | ".join(f"{h} x {g}" for h, g in HOSTS) + " |",
             "|---|---" + "|---" * len(HOSTS) + "|"]
    for model in MODELS:
        for batch in BATCHES:
            times = [milliseconds(etc, root, model, *at, batch) for at in HOSTS]
            lines.append(f"| {model if batch == BATCHES[0] else ''} | {batch} | "
                         + " | ".join(f"{time:.2f}" for time in times) + " |")
    return "\n".join(lines)


def main():
    etc, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    found = table(etc, root)
    if sys.argv[3:] == ["--table"]:
        print(found)
        return 0
    if found not in (root / "docs/multi-gpu.md").read_text():
        print("docs/multi-gpu.md has another table; --table prints this one:\n" + found)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
