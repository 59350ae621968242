#!/usr/bin/env python3
"""Damages the examples' events and requires that `etc check` rejects each result.

    mutate.py ETC [--every N]

Mutants: a wait or a notify dropped, for all tasks or for one coordinate; an index shifted by one; a
count changed by one. A mutant that is still right, or that no proof can reject, stands in EXPECTED
with its reason.
"""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "ir-examples"
NAMES = ["row_sum", "mlp", "attention", "qwen3"]
EXPECTED = {}

EDGE = re.compile(r"\s(wait|notify) \(([a-z, ]*)\)\s*=> ([^;\n]*?)(?=\s+(?:wait|notify)\b|;|\n)")


def mutants(text):
    """(what, mutated text) of each."""
    start = text.index("graph @")
    for match in EDGE.finditer(text, start):
        what = " ".join(match.group(0).split())
        yield f"drop {what}", text[:match.start()] + text[match.end():]
        coordinate = match.group(2).split(",")[0]
        yield (f"drop {what} where {coordinate} == 5",
               f"{text[:match.end()]} if {coordinate} != 5{text[match.end():]}")
        for index in re.finditer(r"(?<=[\[ ])([a-z]+)(?=[\],])", match.group(3)):
            at = match.start(3) + index.end()
            yield f"shift {index.group(0)} in {what}", text[:at] + " + 1" + text[at:]
    for match in re.finditer(r"event %\w+(?:\[[^\n]*?\])? count ([^;]*);", text):
        yield (f"change {' '.join(match.group(0).split())}",
               text[:match.start(1)] + "1 + " + text[match.start(1):])


def main():
    if len(sys.argv) not in (2, 4):
        print(__doc__)
        return 2
    every = int(sys.argv[3]) if len(sys.argv) == 4 else 1
    accepted, tried = [], 0
    for name in NAMES:
        for number, (what, text) in enumerate(mutants((EXAMPLES / f"{name}.etir").read_text())):
            if number % every:
                continue
            tried += 1
            result = subprocess.run([sys.argv[1], "check", "-"], input=text, text=True,
                                    capture_output=True, timeout=120)
            if result.returncode not in (0, 1, 3) or "[syntax]" in result.stderr:
                print(f"{name}: {what}: exit code {result.returncode}\n{result.stderr}")
                return 1
            if result.returncode == 0 and (name, what) not in EXPECTED:
                accepted.append(f"{name}: {what}")
    for mutant in accepted:
        print("accepted:", mutant)
    print(f"{tried - len(accepted)} of {tried} mutants are rejected or listed")
    return 1 if accepted or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
