#!/usr/bin/env python3
"""Every marked block of a page stands, line for line, in one of the given files.

    blocks_test.py PAGE FILE...

A block is marked by the language behind its fence: ```etir or ```c++.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(?:etir|c\+\+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    page = Path(sys.argv[1])
    files = [Path(name).read_text() for name in sys.argv[2:]]
    blocks = BLOCK.findall(page.read_text())
    missing = [block for block in blocks if not any(block in text for text in files)]
    for block in missing:
        print(f"{page}: no file has this block:\n{block}")
    if not blocks:
        print(f"{page}: no block is marked")
    print(f"{len(blocks)} blocks")
    return bool(missing) or not blocks


if __name__ == "__main__":
    sys.exit(main())
