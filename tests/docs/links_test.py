#!/usr/bin/env python3
"""Every link between the pages of the documentation leads to a file and a heading that exist.

    links_test.py ROOT
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)  # `%a[i](%b)` is no link


def anchors(page):
    """The names under which a page's headings can be linked to."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-")
        for heading in HEADING.findall(page.read_text())
    }


def broken_links(root, page):
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or not linked.is_relative_to(root):
            yield f"{page.relative_to(root)}: `{target}` leads to no file of the project"
        elif anchor and linked.suffix == ".md" and anchor not in anchors(linked):
            yield f"{page.relative_to(root)}: `{target}` leads to no heading"


def main():
    root = Path(sys.argv[1]).resolve()
    pages = [root / "README.md", root / "ir-examples/README.md", *(root / "docs").rglob("*.md")]
    broken = [message for page in pages for message in broken_links(root, page)]
    print("\n".join(broken) or f"{len(pages)} pages")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
