#!/usr/bin/env python3
"""Prints the answer that ir-examples/deploy/decode.c gives with a checkpoint.

    deployed.py DECODE ARTIFACT CHECKPOINT QUESTION TOKENS
"""

import json
import subprocess
import sys
from pathlib import Path

import tokenizers
from etcrt.generate import chat_text, end_tokens


def main():
    decode, artifact, folder, question, count = sys.argv[1:]
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompt = tokenizer.encode(chat_text(folder, question), add_special_tokens=False).ids
    words = [decode, artifact, folder, config["rope_theta"], count, *prompt]
    printed = subprocess.run([str(word) for word in words], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    tokens = [int(line) for line in printed.split()]
    ends = [i for i, token in enumerate(tokens) if token in end_tokens(folder, config)]
    print(tokenizer.decode(tokens[:ends[0]] if ends else tokens))


if __name__ == "__main__":
    main()
