"""Operators with a mistake planted into each, all in one program that `etc check --choices` looks at."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Two rows at least: some alternatives are for several.
RANGE = "dim batch in 2..4;\n"


def operators(file, starts):
    """The text of each operator, with all that it calls, and what stands in front of the first."""
    text = (HERE / file).read_text()
    # An operator ends where the next one starts, helpers and all.
    order = sorted(starts, key=lambda name: text.index(starts[name]))
    cut = [text.index(starts[name]) for name in order] + [len(text)]
    return {name: text[cut[i]:cut[i + 1]] for i, name in enumerate(order)}, text[:cut[0]]


def program(variants, head, calls):
    """A program that calls each variant, of which each has names of its own."""
    text, graphs = head + RANGE, ""
    for label, (name, body) in variants.items():
        text += re.sub(r"@(\w+)", rf"@\1_{label}", body) + "\n"
        params, args = calls[name]
        # What peers write is a buffer, whose copy is the output.
        shared = re.search(r"%(\w+): out symmetric (\w+\[[^]]*\])", params)
        params = params.replace("out symmetric", "out")
        nodes = f"call @{name}_{label}({args});"
        if shared:
            y, tensor = shared.groups()
            args = args.replace(f"%{y}", "%shared")
            nodes = (f"%shared = buffer symmetric {tensor}; call @{name}_{label}({args}); "
                     f"call @copy_{label}(%shared, %{y});")
        graphs += f"graph @g_{label}({params}) {{ {nodes} }}\n"
    return text + graphs


def found(etc, text):
    """The labels of the operators that some error is about, and the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.etir"
        path.write_text(text)
        run = subprocess.run([etc, "check", "--choices", "--diagnostics-format=json", path],
                             capture_output=True, text=True)
        try:
            errors = [e for e in json.loads(run.stderr) if e["severity"] == "error"]
        except ValueError:
            sys.exit(f"no JSON:\n{run.stderr}\n{run.stdout}")
        lines = text.split("\n")

        def labels(error):
            told = json.dumps(error)
            near = [n["line"] for n in [error] + error["notes"] if "line" in n]
            return set(re.findall(r"@\w+?_(m\d+)\b", told + " ".join(lines[n - 1] for n in near)))

        return errors, labels, run.returncode


def run(etc, file, starts, mistakes, calls):
    """The exit code: 0 where each mistake is found, and none in the operators as they are."""
    texts, head = operators(file, starts)
    as_they_are = {f"m{i}": (n, t) for i, (n, t) in enumerate(texts.items())}
    errors, _, code = found(etc, program(as_they_are, head, calls))
    if code != 0 or errors:
        sys.exit("the operators as they are:\n" + "\n".join(e["message"] for e in errors))
    variants, planted = {}, {}
    for name, pairs in mistakes.items():
        for mistake in pairs:
            body = texts[name]
            for old, new in zip(mistake[::2], mistake[1::2]):
                if old not in body:
                    sys.exit(f"{name} has no `{old}`")
                body = body.replace(old, new, 1)
            label = f"m{len(variants)}"
            variants[label], planted[label] = (name, body), (name, mistake)
    # All in one program. What keeps it from being compiled hides the rest, so that goes first.
    caught = {}
    left = dict(variants)
    while left:
        errors, labels, _ = found(etc, program(left, head, calls))
        new = {}
        for error in errors:
            for label in labels(error) & set(left):
                new.setdefault(label, error)
        caught.update(new)
        if not new:
            break
        left = {label: body for label, body in left.items() if label not in new}
    for label, error in caught.items():
        name, mistake = planted[label]
        print(f"{name}: {' -> '.join(mistake[:2])}\n    {error['kind']}: {error['message']}")
    for label in left:
        name, mistake = planted[label]
        print(f"NOT FOUND: {name}: {' -> '.join(mistake[:2])}")
    print(f"{len(caught)} of {len(variants)} mistakes are found")
    return 1 if left else 0
