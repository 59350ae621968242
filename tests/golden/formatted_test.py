#!/usr/bin/env python3
"""Every source is as `etc fmt` prints it, but for what is no program, and for the cases of `fmt`.

    formatted_test.py ETC
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("ir-examples", "kernels", "src", "tests")
MESSY = ROOT / "tests/golden/fmt"
# Of what is to be refused, beside cases that are called bad_*.
NO_PROGRAMS = {
    *(ROOT / "tests/golden/import/inputs" / f"{name}.etir" for name in ("cycle", "cycle_back", "syntax")),
}


def errors_of(etc, path):
    """The errors that `etc fmt --check` has about a source, in whose folder its imports are."""
    run = subprocess.run([etc, "fmt", "--check", "--diagnostics-format=json", path.name],
                         cwd=path.parent, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{path}: exit code {run.returncode}\n{run.stderr}")
    errors = json.loads(run.stderr or "[]")
    assert bool(errors) == (run.returncode != 0), run.stderr
    return errors


def main():
    etc = Path(sys.argv[1]).resolve()
    sources = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.etir")
                     if MESSY not in path.parents)
    wrong = []
    for path in sources:
        kinds = {error["kind"] for error in errors_of(etc, path)}
        name = path.relative_to(ROOT)
        if "mismatch" in kinds:
            wrong.append(f"{name}: not formatted")
        elif kinds and not (path.name.startswith("bad_") or path in NO_PROGRAMS):
            wrong.append(f"{name}: {', '.join(sorted(kinds))}")
        elif not kinds and path in NO_PROGRAMS:
            wrong.append(f"{name} is a program")
    print("\n".join(wrong + [f"{len(sources) - len(wrong)} of {len(sources)} sources are right"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
