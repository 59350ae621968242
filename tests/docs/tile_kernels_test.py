#!/usr/bin/env python3
"""Every tile kernel is in the table of docs/kernels.md, and a test of tests/gpu runs it, or a whole program.

    tile_kernels_test.py ROOT

The tests of tests/gpu hold a kernel against a reference, on a GPU and on the emulated device. Tile
kernels are the classes that `impl` lines of the operators and examples name, and those of the table.
"""

import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| `(tile/[\w/]+\.cuh)` `(\w+)` \|", re.MULTILINE)
IMPL = re.compile(r"^\s*impl\s+sm_90a\s+\"(tile/[\w/]+\.cuh)\"\s+(\w+)", re.MULTILINE)
# A name for one of several kernels, which have their tests.
CHOICES = {"DecodeGemm": ("SkinnyGemm", "SwapAbGemm")}
# Kernels whose tensor maps the runtime makes, or that write at peers, and what a test is called by which
# the emulator runs them in a whole program.
OVER_RANKS = "${model}.${batch}${way}.tp2"
WHOLE = {
    "ManyRowsGemm": '"gemm_chain ',
    **dict.fromkeys(("BatchTileGemm", "BatchTileSplitK"), "qwen3.${batch}.batch_tile"),
    **dict.fromkeys(("TiledGateUp", "TiledDown"), '"moe_layer 300 --variant skewed"'),
    "AddParts": OVER_RANKS,
    "SendParts": OVER_RANKS,
    **dict.fromkeys(("AddNormOfOwner", "SendPartsToOwners"), '"qwen3 17 2 owners"'),
    "AddPartsOfOwner": '"qwen3 3 2 owners"',
    **dict.fromkeys(("ManyRowsForPeers", "ManyRowsCopiedToPeers", "ManyRowsWithParts"), '"gemm_rs '),
    **dict.fromkeys(("SendRows", "OwnManyRows", "ManyRowsOfPeers"), '"ag_gemm '),
    **dict.fromkeys(("SendRowsToOthers", "SendFoundBack", "AddFound"), '"moe_ranks 33 2"'),
    **dict.fromkeys(("SendRowsToExperts", "SendFound"), '"moe_ranks 33 2+together"'),
}


def main():
    root = Path(sys.argv[1]).resolve()
    listed = {name: header for header, name in ROW.findall((root / "docs/kernels.md").read_text())}
    used = {}
    for folder in ("kernels/operators", "ir-examples", "tests/programs"):
        for source in sorted((root / folder).rglob("*.etir")):
            for header, name in IMPL.findall(source.read_text()):
                used.setdefault(name, (header, source.relative_to(root)))
    tests = "\n".join(
        path.read_text() for path in sorted((root / "tests/gpu").iterdir()) if path.is_file()
    )
    runs = (root / "tests/emulator/CMakeLists.txt").read_text()
    wrong = [
        f"`{kernel}` of {header} has no test in tests/gpu"
        for name, header in sorted(listed.items())
        for kernel in CHOICES.get(name, (name,))
        if not re.search(rf"\b{kernel}\b", tests)
        and (kernel not in WHOLE or WHOLE[kernel] not in runs)
    ]
    wrong += [
        f"`{name}` of {header}: no header of kernels/tile defines it"
        for name, header in sorted(listed.items())
        if not re.search(rf"\b(struct|class|using) {name}\b", (root / "kernels" / header).read_text())
    ]
    wrong += [
        f"`{name}` of {header}, which {source} uses, is not in the table of docs/kernels.md"
        for name, (header, source) in sorted(used.items())
        if name not in listed
    ]
    for line in wrong:
        print(line)
    print(f"{len(listed)} tile kernels, {len(used)} in use")
    return 1 if wrong or not listed or not used else 0


if __name__ == "__main__":
    sys.exit(main())
