#!/usr/bin/env python3
"""README.md and docs/cli.md have every command of etc, and the latter every option.

    commands_test.py ETC ROOT
"""

import re
import subprocess
import sys
from pathlib import Path


def help_of(etc, *command):
    return subprocess.run([etc, *command, "--help"], check=True, capture_output=True, text=True).stdout


def main():
    etc, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    behind = help_of(etc).partition("Subcommands:\n")[2].partition("\n\n")[0]
    commands = re.findall(r"^  (\w+) ", behind, re.MULTILINE)
    assert len(commands) > 10, commands
    wrong = []
    in_readme = [
        command
        for row in re.findall(r"^\| (`etc [^|]*) \|", (root / "README.md").read_text(), re.MULTILINE)
        for command in re.findall(r"`etc (\w+)`", row)
    ]
    page = (root / "docs/cli.md").read_text()
    for command in commands:
        if command not in in_readme:
            wrong.append(f"README.md: its table has no `etc {command}`")
        if not re.search(rf"^## etc {command}\b", page, re.MULTILINE):
            wrong.append(f"docs/cli.md: no section `etc {command}`")
        for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_of(etc, command), re.MULTILINE):
            if option != "--help" and not re.search(rf"{option}(?![\w-])", page):
                wrong.append(f"docs/cli.md: no `{option}` of `etc {command}`")
    wrong += [f"README.md: there is no `etc {one}`" for one in in_readme if one not in commands]
    print("\n".join(wrong) or f"{len(commands)} commands")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
