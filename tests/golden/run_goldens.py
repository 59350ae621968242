#!/usr/bin/env python3
"""Runs golden tests: files that hold an input and what etc makes of it.

    run_goldens.py ETC FOLDER    runs the cases of one folder beside this file
    run_goldens.py --coverage    every diagnostic kind is shown by some case

A case is a file `NAME.etir` or `NAME.txt`:

    // test: check %s -D n=3
    etir 1;
    ...
    // --- expect exit 1
    // bad.etir:3:5: error: ...

The first line has the arguments of etc; `NAME=VALUE` words before them set the environment, and
` && ` stands between several runs, of which the first that fails is the last; `cat FILE` as a run
shows a file that an earlier one wrote. `%s` is the case,
without its expectation, in an empty folder (so that paths are bare names); it is the standard input
too. `%t` is its name without the extension. `inputs/` beside the case is there as well. Output on
stderr comes after output on stdout. A case is called bad_* exactly if etc exits with an error.
ETC_BLESS=1 rewrites the expectations of what differs.
"""

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = HERE.parent.parent / "src/support/diagnostic_kinds.def"
TEST = "// test: "
EXPECT = "// --- expect exit "


def split_case(text):
    """The program and the expectation of a case."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith(EXPECT):
            return "".join(lines[:number]), "".join(lines[number:])
    return text, ""


def run_case(etc, path, program):
    """What etc does with a case, in the form of an expectation."""
    first = program.split("\n", 1)[0]
    if not first.startswith(TEST):
        raise ValueError(f"{path}: the first line must start with `{TEST.strip()}`")
    out, err, code = "", "", 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_text(program)
        if (path.parent / "inputs").is_dir():
            shutil.copytree(path.parent / "inputs", Path(folder) / "inputs")
        for command in first[len(TEST):].split(" && "):
            words = shlex.split(command.replace("%s", path.name).replace("%t", path.stem))
            env = dict(os.environ)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                name, value = words.pop(0).split("=", 1)
                env[name] = value
            if words[:1] == ["cat"]:
                out += (Path(folder) / words[1]).read_text()
                continue
            result = subprocess.run([etc] + words, input=program, text=True, cwd=folder, env=env,
                                    capture_output=True, timeout=300)
            out, err, code = out + result.stdout, err + result.stderr, result.returncode
            if code != 0:
                break
    lines = (out + ("" if out.endswith("\n") or not out else "\n") + err).splitlines()
    return "".join([f"{EXPECT}{code}\n"] + [f"// {line}".rstrip() + "\n" for line in lines]), code


def run_folder(etc, folder):
    bless = os.environ.get("ETC_BLESS", "") not in ("", "0")
    cases = sorted(p for p in folder.iterdir() if p.suffix in (".etir", ".txt"))
    failures = []
    for path in cases:
        program, expected = split_case(path.read_text())
        actual, code = run_case(etc, path, program)
        if (code != 0) != path.stem.startswith("bad_"):
            failures.append(f"{path}: exit code {code}; a case is called bad_* exactly if it fails\n"
                            + actual)
        elif actual != expected:
            if bless:
                path.write_text(program + ("" if program.endswith("\n") else "\n") + actual)
                print(f"blessed {path}")
                continue
            diff = difflib.unified_diff(expected.splitlines(keepends=True),
                                        actual.splitlines(keepends=True), "expected", "actual")
            failures.append(f"{path}: the output differs (ETC_BLESS=1 accepts it)\n" + "".join(diff))
    for failure in failures:
        print(failure)
    print(f"{len(cases) - len(failures)} of {len(cases)} cases pass")
    return 1 if failures or not cases else 0


def check_coverage():
    kinds = re.findall(r'^ETC_DIAGNOSTIC\(\w+, "([^"]+)"\)', KINDS.read_text(), re.MULTILINE)
    shown = set()
    for path in HERE.glob("*/*"):
        if path.suffix in (".etir", ".txt"):
            shown.update(re.findall(r"\[([a-z-]+)\]$", split_case(path.read_text())[1],
                                    re.MULTILINE))
    missing = [kind for kind in kinds if kind not in shown]
    for kind in missing:
        print(f"no case under {HERE} shows a diagnostic of the kind `{kind}`")
    return 1 if missing or not kinds else 0


def main():
    if sys.argv[1:] == ["--coverage"]:
        return check_coverage()
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    return run_folder(str(Path(sys.argv[1]).resolve()), HERE / sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
