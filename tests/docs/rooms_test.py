#!/usr/bin/env python3
"""Every file of src/ includes headers only of the rooms that docs/architecture.md lets its room use,
headers that are a detail stay in their folder, and printers of emitted text decide nothing.

    rooms_test.py ROOT
"""

import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| `([\w/]+)` \| [^|]+ \|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([\w/]+)/[^"]+"', re.MULTILINE)
# What others may include of the folder; the rest are details of it.
ORDER = re.compile(r'#include "(analysis/order/(?!(?:order|task_order|possible_order)\.h)[^"]+)"')
# Only raise and the manifest ask what expressions are worth, or what is inside of them.
PRINTER = re.compile(r"src/emit/(?!manifest)\w+\.(cpp|h)$")
QUESTION = re.compile(
    r'#include "ir/(?:walk|rewrite|fold)\.h"'
    r"|\b(?:Bounds|Decide|Evaluate(?:Int|Bool|Float)|Mentions|ReadsTensor|FindImpl|SharesOf)\("
)


def room_of(folder, table):
    """The room of a folder: the innermost that has a row, else the outermost."""
    parts = folder.split("/")
    rooms = ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((room for room in rooms if room in table), parts[0])


def main():
    root = Path(sys.argv[1]).resolve()
    table = {
        room: None if uses.strip() == "all" else set(re.findall(r"`([\w/]+)`", uses))
        for room, uses in ROW.findall((root / "docs/architecture.md").read_text())
    }
    rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    wrong = [f"src/{room} is missing from the table" for room in sorted(rooms - set(table))]
    wrong += [
        f"`{room}` of the table is no folder of src"
        for room in sorted(set(table) - rooms)
        if not (root / "src" / room).is_dir()
    ]
    files = [path for path in (root / "src").rglob("*") if path.suffix in (".h", ".cpp")]
    for path in sorted(files):
        room = room_of(path.parent.relative_to(root / "src").as_posix(), table)
        if PRINTER.search(path.relative_to(root).as_posix()):
            wrong += [
                f"{path.relative_to(root)}: a printer has `{asked}`, a question for `emit/raise`"
                for asked in QUESTION.findall(path.read_text())
            ]
        if path.parent != root / "src/analysis/order":
            wrong += [
                f"{path.relative_to(root)}: `{header}` is a detail of the order"
                for header in ORDER.findall(path.read_text())
            ]
        allowed = table.get(room)
        if allowed is None:
            continue
        for used in INCLUDE.findall(path.read_text()):
            used = room_of(used, table)
            if used != room and used not in allowed:
                wrong.append(f"{path.relative_to(root)}: `{room}` may not use `{used}`")
    print("\n".join(wrong) or f"{len(files)} files in {len(rooms)} rooms")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
