#!/usr/bin/env python3
"""What etc says of sources that no case file can hold: names of a million letters, and a zero byte.

    odd_sources_test.py ETC
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LONG = "x" * 1_000_000
GRAPH = "graph @g(%y: out i32[4]) { call @one(%y); }\n"


def body(value):
    return f"etir 1;\ndevice @one(%y: out i32[4]) tasks (i: 4) {{\n  %y[i] = {value};\n}}\n" + GRAPH


# What each says, by the place and the words of its first error.
SOURCES = {
    "a name that nobody knows": (body(LONG), "odd.etir:3:11: error: no scalar `xxxx"),
    "a tensor that nobody knows": (body(f"%{LONG}[i]"), "odd.etir:3:11: error: no tensor `%xxxx"),
    "a call of nothing": (
        body("1").replace("call @one", f"call @{LONG}"),
        "odd.etir:5:33: error: no device function `@xxxx",
    ),
    "a name that is there twice": (
        body("1").replace("device", f"const {LONG} = 1;\nconst {LONG} = 2;\ndevice", 1),
        "odd.etir:3:7: error: `xxxx",
    ),
    "a zero byte": (
        body("1\0"),
        "etc: error: `odd.etir` is not text: its byte 62, on line 3, is zero [file]",
    ),
}


def refused(etc, folder, *words):
    result = subprocess.run(
        [etc, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1, (words, result.returncode, result.stderr[:1000])
    assert not result.stdout, words
    assert len(result.stderr) < 3000, (words, len(result.stderr))
    return result.stderr


def main():
    etc = str(Path(sys.argv[1]).resolve())
    for name, (source, start) in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "odd.etir").write_text(source)
            for words in (("check",), ("compile", "--arch", "host", "-o", "odd.so"), ("explain",)):
                text = refused(etc, folder, words[0], "odd.etir", *words[1:])
                assert text.startswith(start), (name, words, text[:300])
            text = refused(etc, folder, "check", "odd.etir", "--diagnostics-format=json")
            message = json.loads(text)[0]["message"]
            assert len(message) < 500, (name, len(message))
            assert [path.name for path in Path(folder).iterdir()] == ["odd.etir"], name


if __name__ == "__main__":
    main()
