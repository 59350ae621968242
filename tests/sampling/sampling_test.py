"""@sample of the library: against a sampler that sorts, and against the
probabilities of transformers' formulas. $ETC compiles, $ETCRT is the runtime library. With
$ETC_DEVICE, options of the compiler, the program runs on the GPU instead, with its tile kernels."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src" / "python"))

import etcrt  # noqa: E402
from etcrt.memory import Buffer  # noqa: E402
from sampler import Settings, philox, probabilities, scores, softmax, token, weights  # noqa: E402

SETTINGS = [
    Settings(temperature=0.0),
    Settings(),
    Settings(temperature=0.7, top_k=20),
    Settings(top_p=0.9),
    Settings(min_p=0.05),
    Settings(repetition_penalty=1.3),
    Settings(temperature=0.0, repetition_penalty=2.0),
    Settings(temperature=1.5, top_k=50, top_p=0.95, min_p=0.01, repetition_penalty=1.1),
    Settings(top_k=1),
    Settings(top_p=0.0),
    Settings(min_p=1.0),
    Settings(temperature=100.0),
    Settings(temperature=0.01, top_p=0.5),
    Settings(top_k=10**9, top_p=1.0),
    Settings(top_k=3, top_p=0.999, min_p=1e-6),
]
# What Python refuses, the program takes for something near.
ODD = [
    Settings(temperature=float("nan")), Settings(temperature=-1.0), Settings(temperature=float("inf")),
    Settings(top_k=-5), Settings(top_p=float("nan")), Settings(top_p=-0.5), Settings(top_p=2.0),
    Settings(min_p=7.0), Settings(min_p=float("nan")), Settings(repetition_penalty=0.0),
    Settings(repetition_penalty=float("nan")), Settings(repetition_penalty=-2.0),
]


DEVICE = os.environ.get("ETC_DEVICE")
NAMES = {"float32": "f32", "int32": "i32", "int64": "i64", "uint32": "u32"}


class Sampler:
    """The compiled program; numpy holds its tensors."""

    folder = tempfile.TemporaryDirectory()
    programs = {}

    def __init__(self, vocabulary, several=False, flags=()):
        key = (vocabulary, several, flags)
        if key not in self.programs:
            path = Path(self.folder.name) / f"{len(self.programs)}.etca"
            target = ["--arch", "host"] if DEVICE is None else DEVICE.split()
            # Of one vocabulary everything is proved; the others have the same accesses.
            proofs = [] if vocabulary == 1000 else ["--no-proofs"]
            subprocess.run([os.environ["ETC"], "compile", ROOT / "tests/programs/sampling.etir", *target,
                            "-D", f"vocab_size={vocabulary}", "-D",
                            f"several_tokens={str(several).lower()}", *proofs, *flags, "-o", path], check=True)
            self.programs[key] = etcrt.Program(path)
        self.vocabulary = vocabulary
        self.several = several
        self.program = self.programs[key]
        self.run = etcrt.Runtime(self.program)

    def draw(self, logits, settings, positions=None, slots=None, ids=None, seen=None, row_start=None, ring=8,
             sms=2):
        """The outputs of one launch; settings, positions and slots are of sequences."""
        rows, sequences = len(logits), len(settings)
        slots = np.arange(sequences) if slots is None else slots
        places = int(slots.max()) + 1

        def of_slots(name, dtype):
            values = np.zeros(places, dtype)
            values[slots] = [getattr(one, name) for one in settings]
            return values

        words = -(-self.vocabulary // 32)
        self.seen = np.zeros((places, words), np.uint32) if seen is None else seen.copy()
        tensors = {
            "logits": np.ascontiguousarray(logits, np.float32),
            "ids": np.zeros(rows, np.int32) if ids is None else ids.astype(np.int32),
            "pos": (np.arange(sequences) if positions is None else positions).astype(np.int32),
            "slot": slots.astype(np.int32),
            "temperature": of_slots("temperature", np.float32), "top_k": of_slots("top_k", np.int32),
            "top_p": of_slots("top_p", np.float32), "min_p": of_slots("min_p", np.float32),
            "repetition_penalty": of_slots("repetition_penalty", np.float32),
            "seed": of_slots("seed", np.int64), "seen": self.seen,
            "token": np.full(rows, -1, np.int32), "next_ids": np.full(sequences, -1, np.int32),
            "next_pos": np.full(sequences, -1, np.int32), "ring": np.full((places, ring), -1, np.int32),
        }
        if "logprob" in self.program.params():
            best = (rows, self.program.constants()["logprobs"])
            tensors["logprob"] = np.zeros(rows, np.float32)
            tensors["best_token"] = np.full(best, -1, np.int32)
            tensors["best_logprob"] = np.zeros(best, np.float32)
        if self.several:
            tensors["row_start"] = row_start.astype(np.int32)
            self.run.set_dim("extra", rows - sequences)
        self.run.set_sms(sms)
        if DEVICE is None:
            self.run.bind(**tensors)
            self.run.launch()
            self.run.check()
        else:
            self.launch_on_device(tensors)
        return tensors

    def launch_on_device(self, tensors):
        buffers = {}
        for name, tensor in tensors.items():
            buffers[name] = Buffer(max(tensor.nbytes, 16), True)
            buffers[name].write(tensor.tobytes())
            self.run.bind_pointer(name, buffers[name].address, NAMES[tensor.dtype.name], tensor.shape)
        self.run.launch()
        self.run.check()
        for name, tensor in tensors.items():
            tensor[...] = np.frombuffer(buffers[name].read(tensor.nbytes), tensor.dtype).reshape(tensor.shape)


def bits_of(words, vocabulary):
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:vocabulary].astype(bool)


def varied_logits(rng, rows, vocabulary):
    """Peaked and flat rows, rows of few values, and rows with what is not finite."""
    logits = rng.standard_normal((rows, vocabulary)) * rng.choice([0.3, 2.0, 6.0], (rows, 1))
    for row in range(rows):
        kind = row % 7
        if kind == 3:
            logits[row] = np.round(logits[row])
        elif kind == 4:
            logits[row, rng.random(vocabulary) < 0.3] = -np.inf
            logits[row, rng.random(vocabulary) < 0.1] = np.nan
        elif kind == 5 and row % 2:
            logits[row, rng.random(vocabulary) < 0.2] = np.inf
    return logits.astype(np.float32)


class SamplingTest(unittest.TestCase):
    def check_rows(self, sampler, rng, settings, rows, **more):
        """Every row against the reference, with random tokens, positions and places."""
        vocabulary = sampler.vocabulary
        logits = varied_logits(rng, rows, vocabulary)
        chosen = [Settings(**{**vars(settings[i % len(settings)]), "seed": int(rng.integers(-2**63, 2**63))})
                  for i in range(rows)]
        slots = rng.permutation(rows + 3)[:rows]
        positions = rng.integers(0, 10**6, rows)
        ids = rng.integers(0, vocabulary, rows)
        seen = rng.integers(0, 2**32, (slots.max() + 1, -(-vocabulary // 32)), dtype=np.uint32)
        out = sampler.draw(logits, chosen, positions, slots, ids, seen, **more)
        for row, slot in enumerate(slots):
            seen[slot, ids[row] // 32] |= np.uint32(1 << int(ids[row]) % 32)
            expected = token(logits[row], bits_of(seen[slot], vocabulary), chosen[row], int(positions[row]) + 1)
            self.assertEqual(out["token"][row], expected, (row, chosen[row]))
            self.assertEqual(out["ring"][slot, (positions[row] + 1) % 8], expected)
        np.testing.assert_array_equal(out["seen"], seen)
        np.testing.assert_array_equal(out["next_ids"], out["token"])
        np.testing.assert_array_equal(out["next_pos"], positions + 1)
        self.assertEqual((out["ring"] >= 0).sum(), rows)
        return out

    def test_vocabularies_of_all_sizes(self):
        for vocabulary in (1, 3, 17, 1000):
            rng = np.random.default_rng(vocabulary)
            sampler = Sampler(vocabulary)
            for rows in (1, 5, 128):
                self.check_rows(sampler, rng, SETTINGS, rows)

    def test_a_large_vocabulary(self):
        self.check_rows(Sampler(151936), np.random.default_rng(1), SETTINGS, 21)

    def test_odd_settings_have_a_meaning(self):
        self.check_rows(Sampler(1000), np.random.default_rng(2), ODD, 36)

    def test_launches_and_sms_draw_the_same(self):
        sampler = Sampler(1000)
        first = None
        for sms in (1, 2, 5) if DEVICE else (1, 2, 7, 132):
            out = self.check_rows(sampler, np.random.default_rng(3), SETTINGS, 30, sms=sms)
            first = out if first is None else first
            np.testing.assert_array_equal(out["token"], first["token"])

    def test_rows_of_several_tokens(self):
        sampler = Sampler(1000, several=True)
        rng = np.random.default_rng(4)
        for row_start in ([0, 1, 2, 3], [0, 5, 6, 20], [0, 70]):
            row_start = np.array(row_start)
            sequences, rows = len(row_start) - 1, row_start[-1]
            logits = varied_logits(rng, rows, 1000)
            chosen = [Settings(temperature=0.8, top_p=0.9, repetition_penalty=1.2, seed=s) for s in range(sequences)]
            ids, positions = rng.integers(0, 1000, rows), rng.integers(0, 1000, sequences)
            out = sampler.draw(logits, chosen, positions, ids=ids, row_start=row_start)
            for s in range(sequences):
                begin, end = row_start[s], row_start[s + 1]
                seen = np.isin(np.arange(1000), ids[begin:end])
                for row in range(begin, end):
                    position = int(positions[s] + row - begin + 1)
                    self.assertEqual(out["token"][row], token(logits[row], seen, chosen[s], position))
                self.assertEqual(out["next_ids"][s], out["token"][end - 1])
                self.assertEqual(out["next_pos"][s], positions[s] + end - begin)
                self.assertEqual(out["ring"][s, (positions[s] + end - begin) % 8], out["token"][end - 1])

    def test_log_probabilities_are_those_of_the_logits(self):
        for vocabulary, best in ((3, 5), (1000, 1), (9000, 20)):
            sampler = Sampler(vocabulary, flags=("-D", "sampling=true", "-D", f"logprobs={best}"))
            rng = np.random.default_rng(vocabulary)
            out = self.check_rows(sampler, rng, SETTINGS, 14)
            for row, logits in enumerate(out["logits"]):
                x = scores(logits, np.zeros(vocabulary, bool), 1.0).astype(np.float64)
                with np.errstate(divide="ignore"):  # of what is too small
                    expected = np.log(softmax(x))
                order = np.argsort(-x, kind="stable")[:best]
                order = order[x[order] > -np.inf]
                np.testing.assert_array_equal(out["best_token"][row, :len(order)], order)
                tolerance = {"rtol": 2e-6, "atol": 5e-6}
                np.testing.assert_allclose(out["best_logprob"][row, :len(order)], expected[order], **tolerance)
                np.testing.assert_allclose(out["logprob"][row], expected[out["token"][row]], **tolerance)

    def test_checks_find_values_out_of_their_range(self):
        sampler = Sampler(17, flags=("--debug-checks",))
        logits = np.zeros((2, 17))
        with self.assertRaises(etcrt.Error) as raised:
            sampler.draw(logits, [Settings()] * 2, slots=np.array([1, 1]))
        self.assertIn("slot", str(raised.exception))
        with self.assertRaises(etcrt.Error):
            sampler.draw(logits, [Settings()] * 2, ids=np.array([0, 17]))


class DistributionTest(unittest.TestCase):
    """Chi-square of 7,680 draws of one row, with seeds that are fixed."""

    DRAWS = 128 * 60

    def frequencies(self, logits, settings, by_position):
        sampler, counts = Sampler(len(logits)), np.zeros(len(logits))
        rows = np.tile(logits, (128, 1))
        for launch in range(self.DRAWS // 128):
            first = 128 * launch
            chosen = [Settings(**{**vars(settings), "seed": 7 if by_position else first + i})
                      for i in range(128)]
            positions = first + np.arange(128) if by_position else np.full(128, 41)
            counts += np.bincount(sampler.draw(rows, chosen, positions, sms=1)["token"], minlength=len(logits))
        return counts

    def check(self, settings, by_position=False, vocabulary=40):
        logits = np.random.default_rng(5).standard_normal(vocabulary).astype(np.float32) * 2
        expected = probabilities(logits, np.zeros(vocabulary, bool), settings) * self.DRAWS
        counts = self.frequencies(logits, settings, by_position)
        self.assertEqual(counts[expected == 0].sum(), 0)
        often = expected >= 5
        rare = expected[~often].sum(), counts[~often].sum()
        statistic = ((counts - expected)[often] ** 2 / expected[often]).sum()
        degrees = often.sum() - 1
        if rare[0] > 0:
            statistic += (rare[1] - rare[0]) ** 2 / max(rare[0], 1)
            degrees += 1
        # Wilson and Hilferty's bound that one of a thousand seeds is beyond.
        bound = degrees * (1 - 2 / (9 * degrees) + 3.09 * np.sqrt(2 / (9 * degrees))) ** 3 if degrees else 0
        self.assertLessEqual(statistic, bound, settings)

    def test_temperature(self):
        self.check(Settings(temperature=0.5))
        self.check(Settings(temperature=1.0))
        self.check(Settings(temperature=3.0))

    def test_positions_draw_as_seeds_do(self):
        self.check(Settings(), by_position=True)

    def test_top_k(self):
        self.check(Settings(top_k=5))

    def test_top_p(self):
        self.check(Settings(top_p=0.7))

    def test_min_p(self):
        self.check(Settings(min_p=0.1))

    def test_all_together(self):
        self.check(Settings(temperature=1.3, top_k=15, top_p=0.85, min_p=0.05), by_position=True)

    def test_equals_are_as_likely(self):
        logits = np.zeros(40, np.float32)
        counts = self.frequencies(logits, Settings(top_k=3), False)  # the third has 37 equals
        statistic = ((counts - self.DRAWS / 40) ** 2 / (self.DRAWS / 40)).sum()
        self.assertLess(statistic, 72.1)  # of 39 degrees, one of a thousand is beyond


class FormulaTest(unittest.TestCase):
    """The reference itself."""

    def test_philox_has_the_known_answers(self):
        self.assertEqual(philox(0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])

    def test_weights_are_powers_of_two_and_fall(self):
        distance = np.arange(0, 41 << 25, 4099)
        weight = weights(distance)
        self.assertEqual(int(weight[0]), 1 << 40)
        self.assertTrue((np.diff(weight.astype(np.int64)) <= 0).all())
        near = distance < 8 << 25
        np.testing.assert_allclose(weight[near] / 2.0**40, 2.0 ** (-distance[near] / 2.0**25), rtol=2e-8)
        self.assertEqual(int(weights(np.array([41 << 25]))[0]), 0)

    def test_probabilities_are_those_of_a_softmax(self):
        logits = np.random.default_rng(6).standard_normal(1000).astype(np.float32) * 4
        x = scores(logits, np.zeros(1000, bool), 1.0)
        z = ((x.max() - x) * np.float32(48408812)).astype(np.int64)
        weight = weights(np.minimum(z, 41 << 25)).astype(np.float64)
        np.testing.assert_allclose(weight / weight.sum(), softmax(logits.astype(np.float64)), rtol=1e-5, atol=1e-11)


if __name__ == "__main__":
    unittest.main()
