#!/usr/bin/env python3
"""Every file of src/ includes headers only of the rooms that docs/architecture.md lets its room use.

    rooms_test.py ROOT
"""

import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+)/[^"]+"', re.MULTILINE)


def main():
    root = Path(sys.argv[1]).resolve()
    table = {
        room: None if uses.strip() == "all" else set(re.findall(r"`(\w+)`", uses))
        for room, uses in ROW.findall((root / "docs/architecture.md").read_text())
    }
    rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    wrong = [f"src/{room} is missing from the table" for room in sorted(rooms - set(table))]
    wrong += [f"`{room}` of the table is no folder of src" for room in sorted(set(table) - rooms)]
    files = [path for path in (root / "src").rglob("*") if path.suffix in (".h", ".cpp")]
    for path in sorted(files):
        room = path.relative_to(root / "src").parts[0]
        allowed = table.get(room)
        if allowed is None:
            continue
        for used in INCLUDE.findall(path.read_text()):
            if used != room and used not in allowed:
                wrong.append(f"{path.relative_to(root)}: `{room}` may not use `{used}`")
    print("\n".join(wrong) or f"{len(files)} files in {len(rooms)} rooms")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
