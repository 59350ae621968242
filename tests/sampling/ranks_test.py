"""Ranks that share the logits draw what one rank draws: every output has the same bits, on every
rank. $ETC runs the program on the host."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "sampling.etir"
VOCABULARY = 1056  # of which two or three ranks have parts
OUTPUTS = ["token", "next_ids", "next_pos", "ring", "seen"]
SCORES = ["logprob", "best_token", "best_logprob"]


def inputs_of(rng, rows):
    """A place for each row; the largest logit of a row is in the parts of several ranks, or is drawn."""
    logits = rng.standard_normal((rows, VOCABULARY)).astype(np.float32) * 4
    for row, best in enumerate(logits):
        best[rng.permutation(VOCABULARY)[: 1 + row % 4]] = 20
    logits[rows // 2, : VOCABULARY // 2] = np.nan
    return {
        "logits": logits,
        "ids": rng.integers(0, VOCABULARY, rows, dtype=np.int32),
        "pos": rng.integers(0, 4096, rows, dtype=np.int32),
        "slot": rng.permutation(rows).astype(np.int32),
        "temperature": np.resize(np.float32([0, 1, 4, 0.7]), rows),
        "top_k": np.resize(np.int32([0, 40, 7]), rows),
        "top_p": np.resize(np.float32([1, 0.9]), rows),
        "min_p": np.resize(np.float32([0, 0, 0.05]), rows),
        "repetition_penalty": np.resize(np.float32([1, 1.3]), rows),
        "seed": rng.integers(-(2**62), 2**62, rows),
        "seen": rng.integers(0, 2**32, (rows, VOCABULARY // 32), dtype=np.uint32),
        "ring": np.full((rows, 8), -1, np.int32),
    }


class RanksTest(unittest.TestCase):
    def run_on(self, ranks, rows, inputs, outputs, flags):
        with tempfile.TemporaryDirectory() as folder:
            words = [os.environ["ETC"], "run", PROGRAM, "-D", f"vocab_size={VOCABULARY}", "-D", f"tp={ranks}",
                     *flags, "--dim", f"batch={rows}", "--sms", "2"]
            for name, values in inputs.items():
                np.save(f"{folder}/{name}.npy", values)
                words += ["--input", f"{name}={folder}/{name}.npy"]
            for name in outputs:
                words += ["--output", f"{name}={folder}/{name}.out.npy"]
            # With ranks, also of every rank against the program of all of them.
            subprocess.run(words + ["--check"] * (ranks > 1), check=True, stdout=subprocess.DEVNULL)
            return {name: np.load(f"{folder}/{name}.out.npy") for name in outputs}

    def check(self, ranks, rows, outputs=OUTPUTS, flags=()):
        inputs = inputs_of(np.random.default_rng(rows), rows)
        alone = self.run_on(1, rows, inputs, outputs, flags)
        together = self.run_on(ranks, rows, inputs, outputs, flags)
        self.assertGreater(len(set(alone["token"] * ranks // VOCABULARY)), min(1, rows - 1))
        for name in outputs:
            np.testing.assert_array_equal(together[name].view(np.int32), alone[name].view(np.int32), name)

    def test_one_row(self):
        self.check(2, 1)

    def test_few_rows(self):
        self.check(2, 3)
        self.check(3, 3)

    def test_many_rows(self):
        self.check(3, 17)

    def test_log_probabilities(self):
        self.check(2, 5, OUTPUTS + SCORES, ("-D", "sampling=true", "-D", "logprobs=3"))


if __name__ == "__main__":
    unittest.main()
