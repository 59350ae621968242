#!/usr/bin/env python3
"""Holds derived events against those that an expert writes by hand.

    expert_test.py ETC

Each case of derive/ shows the derived events and what the program gives with them. Its twin in
derive/expert/ has events: all of it is proved, it runs right and gives the same, and the table in
docs/pipeline.md says of which the events are equal: up to names, the order of waits, and the values
of constants.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What is known not to be proved of a program, by the kind of its diagnostics: that all of a buffer is
# written by tasks that have one coordinate for row and column, or at the places of a permutation
# that the program computes.
NOT_PROVED = {"flat_tasks": {"coverage"}, "computed_scatter": {"coverage"}}
TABLE = HERE.parent.parent / "docs/pipeline.md"


def etc(binary, folder, *words):
    result = subprocess.run([binary, *words], cwd=folder, text=True, capture_output=True, timeout=300)
    if result.returncode != 0:
        raise ValueError(f"etc {' '.join(words)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout + result.stderr


def fold(text):
    """Evaluates what is made of numbers alone."""
    rules = [
        (r"ceildiv\((\d+), (\d+)\)", lambda m: str(-(-int(m[1]) // int(m[2])))),
        (r"(?<![%*/.] )\b(\d+) \* (\d+)\b", lambda m: str(int(m[1]) * int(m[2]))),
        (r"(?<![\w%*/.] )\b(\d+) ([-+]) (\d+)\b(?! [*/%])",
         lambda m: str(int(m[1]) + int(m[2] + m[3]))),
    ]
    before = None
    while before != text:
        before = text
        for pattern, value in rules:
            text = re.sub(pattern, value, text)
    return text


def split(text, separator):
    """The parts between separators that stand in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def clause(text):
    """A wait or notify with the conjuncts of its condition in order."""
    target, _, guard = text.partition(" if ")
    return target + " if " + " && ".join(sorted(guard.split(" && "))) if guard else target


def events_of(text):
    """The events and clauses of a graph in one form."""
    constants = dict(re.findall(r"^const (\w+) = (\d+);", text, re.MULTILINE))
    graph = " ".join(text[text.index("graph @"):].split())
    for name, value in constants.items():
        graph = re.sub(rf"(?<![%@\w]){name}\b", value, graph)
    clauses, declarations = [], {}
    for statement in re.split(r"[;{}]", graph):
        statement = statement.strip()
        if statement.startswith("event "):
            kind, name, rest = re.match(r"event (symmetric )?%(\w+)(.*)", statement).groups()
            declarations[name] = (kind or "") + rest
        elif statement.startswith("call"):
            head, *edges = re.split(r" (?=(?:wait|notify) \()", statement)
            waits = []
            for edge in edges:
                kind, coords, refs = re.match(r"(wait|notify) (\(.*?\)) => (.*)", edge).groups()
                waits += [f"{kind} {coords} {clause(ref)}" for ref in split(refs, ",")]
            clauses.append((head, waits))
        elif statement.startswith("repeat"):
            clauses.append((statement, []))
    # An event is told by who notifies it, in the order of the calls.
    number = {}
    for _, waits in clauses:
        for wait in waits:
            name = re.search(r"%(\w+)", wait)[1]
            if wait.startswith("notify"):
                number.setdefault(name, f"event{len(number)}")

    def rename(line):
        return re.sub(r"%(\w+)", lambda m: "%" + number.get(m[1], m[1]), fold(line))

    declared = sorted(f"{number[name]}{fold(rest)}" for name, rest in declarations.items())
    return declared, [(head, sorted(map(rename, waits))) for head, waits in clauses]


def numbers(output):
    return re.findall(r"^%\w+: .*checksum \w+$", output, re.MULTILINE)


def compare(binary, path):
    """Whether the derived events, which the case shows, are the expert's."""
    program, shown = path.read_text().split("// --- expect exit ")
    shown = re.sub(r"^// ?", "", shown, flags=re.MULTILINE)
    arguments = shlex.split(program.split("\n", 1)[0].split("run %t.out", 1)[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "derive/expert" / path.name, Path(folder, "expert.etir"))
        shutil.copytree(HERE / "derive/inputs", Path(folder, "inputs"))
        said = etc(binary, folder, "check", "--remarks", "expert.etir")
        open_facts = set(re.findall(r"not proved.*\[([\w-]+)\]", said))
        if open_facts != NOT_PROVED.get(path.stem, set()):
            raise ValueError(f"of the expert's program is not proved: {open_facts}\n{said}")
        ran = numbers(etc(binary, folder, "run", "expert.etir", "--device", "host", *arguments))
        if not ran or ran != numbers(shown):
            raise ValueError(f"the results differ: {ran}, {numbers(shown)}")
        return events_of(shown) == events_of(etc(binary, folder, "fmt", "expert.etir"))


def rows():
    """What the table says of each program: whether the events are the same."""
    said = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) == 3 and cells[2].startswith(("equal", "differs")):
            for name in re.findall(r"`([a-z0-9_]+)`", re.sub(r"\(.*?\)", "", cells[0])):
                said[name] = cells[2].startswith("equal")
    return said


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    said, failures = rows(), 0
    paths = sorted((HERE / "derive").glob("*.etir"))
    for path in paths:
        try:
            equal = compare(str(Path(sys.argv[1]).resolve()), path)
            if said.get(path.stem) is not equal:
                raise ValueError(f"{TABLE.name} says {said.get(path.stem)} of equal events, "
                                 f"but they are {'equal' if equal else 'others'}")
        except (ValueError, OSError) as error:
            print(f"{path.stem}: {error}")
            failures += 1
    print(f"{len(paths) - failures} of {len(paths)} programs are as the table says")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
