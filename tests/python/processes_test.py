"""`etc run --join` and `etc-generate --join`: a process for each rank, on the host target, or with $ETC_DEVICE,
options of `etc compile`, on two GPUs. $ETC compiles, $ETCRT is the runtime library."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "tests" / "sampling")]

from steps_test import DEVICE, SMS, TARGET, Model  # noqa: E402

ETC = os.environ["ETC"]
ON_HOST = DEVICE is None
EXAMPLES = ROOT / "ir-examples"
LIMIT = 120  # seconds for a process
FEW_SMS = ["--sms", 2] if ON_HOST else []

# A tokenizer whose tokens are numbers, in the place of the package.
TOKENIZERS = '''
class Encoding:
    def __init__(self, ids):
        self.ids = ids
class Tokenizer:
    @staticmethod
    def from_file(path):
        return Tokenizer()
    def encode(self, text, add_special_tokens=True):
        return Encoding([int(word) for word in text.split()])
    def decode(self, tokens):
        return " ".join(map(str, tokens))
'''


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Processes:
    """One for each rank, each with its environment, all but the ranks that are not started."""

    def __init__(self, command, ranks, started=None, **environment):
        common = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_PORT": str(free_port()), **environment}
        self.all = [subprocess.Popen([*map(str, command(rank))],
                                     env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for rank in range(ranks if started is None else started)]

    def ended(self):
        """What each has come to: exit code, output, errors."""
        said = [process.communicate(timeout=LIMIT) for process in self.all]
        return [(process.returncode, *texts) for process, texts in zip(self.all, said)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.all:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.held.name)
        cls.artifacts = {}
        for name in ("all_reduce", "mlp_tp"):
            cls.artifacts[name] = cls.compiled(name)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def compiled(cls, name, *options, watchdog=20):
        path = cls.folder / f"{name}{len(options)}.{watchdog}.etca"
        watch = ["--watchdog", str(watchdog)] if watchdog else []
        subprocess.run([ETC, "compile", EXAMPLES / f"{name}.etir", *TARGET, "--no-proofs", *watch, *options,
                        "-o", path], check=True)
        return path

    def together(self, command, ranks, **more):
        with Processes(command, ranks, **more) as processes:
            return processes.ended()

    def test_ranks_print_and_write_what_one_process_does(self):
        for name, ranks, size in (("all_reduce", 2, "n=777"), ("mlp_tp", 4, "rows=3"), ("mlp_tp", 1, "rows=1")):
            if ranks > 2 and not ON_HOST:
                continue
            with self.subTest(name=name, ranks=ranks):
                words = [ETC, "run", self.artifacts[name], "--dim", size, *FEW_SMS, "--seed", 5]
                y, joined_y = (self.folder / f"{name}.{ranks}.{how}.npy" for how in ("one", "joined"))
                alone = subprocess.run(map(str, [*words, "--dim", f"tp={ranks}"]), capture_output=True,
                                       text=True, check=True).stdout
                subprocess.run(map(str, [*words, "--dim", f"tp={ranks}", "--output", f"y={y}"]), check=True)
                self.assertIn("y", alone)
                self.assertEqual(self.together(lambda rank, w=words: [*w, "--join"], ranks),
                                 [(0, alone if rank == 0 else "", "") for rank in range(ranks)])
                self.together(lambda rank, w=words, to=joined_y: [*w, "--join", "--output", f"y={to}"], ranks)
                self.assertEqual(joined_y.read_bytes(), y.read_bytes())

    def test_each_process_checks_each_launch_of_a_source(self):
        place = [] if ON_HOST else ["--device", "gpu", *TARGET]
        ended = self.together(lambda rank: [ETC, "run", EXAMPLES / "all_reduce.etir", "--dim", "n=65", "--dim",
                                            "tp=2", *FEW_SMS, *place, "--check", "--repeat", 3, "--join"], 2)
        self.assertEqual([code for code, _, _ in ended], [0, 0])
        self.assertRegex(ended[0][1], r"%y: .* 0 of 130 mismatch: ok\n3 launches")
        self.assertEqual(ended[1][1], "")

    def test_an_error_is_said_with_the_rank(self):
        words = [ETC, "run", self.artifacts["all_reduce"], *FEW_SMS, "--join"]
        ended = self.together(lambda rank: [*words, "--dim", f"n={777 + rank}"], 2)
        self.assertEqual([code for code, _, _ in ended], [2, 2])
        for _, out, errors in ended:
            self.assertEqual(out, "")
            self.assertIn("rank 1: dim `n` is 778, but 777 on rank 0", errors)
        ended = self.together(lambda rank: [*words, "--dim", "n=8", "--dim", "tp=4"], 2)
        for _, _, errors in ended:
            self.assertIn("rank 0: dim `tp` is 4, but the group has 2 ranks", errors)

    def test_other_artifacts_are_refused(self):
        other = self.compiled("all_reduce", watchdog=21)
        both = [self.artifacts["all_reduce"], other]
        for code, _, errors in self.together(lambda rank: [ETC, "run", both[rank], "--dim", "n=8", "--join"], 2):
            self.assertEqual(code, 1)
            self.assertIn("rank 1 has another artifact", errors)

    def test_a_process_that_dies_ends_the_others(self):
        for artifact in (self.artifacts["all_reduce"], self.compiled("all_reduce", watchdog=None)):
            words = [ETC, "run", artifact, "--dim", "n=4096", *FEW_SMS, "--repeat", 1000000, "--join"]
            with self.subTest(artifact=artifact.name), Processes(lambda rank, w=words: w, 2) as processes:
                time.sleep(3)
                self.assertEqual([process.poll() for process in processes.all], [None, None])
                processes.all[1].kill()
                begin = time.monotonic()
                code, out, errors = processes.ended()[0]
                self.assertLess(time.monotonic() - begin, 30)
                self.assertEqual((code, out), (1, ""))
                self.assertIn("rank 1 is gone", errors)

    def test_what_does_not_join_is_refused(self):
        alone = subprocess.run([ETC, "run", EXAMPLES / "row_sum.etir", "--dim", "n=1", "--join"], text=True,
                               capture_output=True)
        self.assertEqual(alone.returncode, 2)
        self.assertIn("`--join`: `@row_sum` has no ranks", alone.stderr)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")}
        nobody = subprocess.run(map(str, [ETC, "run", self.artifacts["all_reduce"], "--dim", "n=8", "--join"]),
                                env=environment, text=True, capture_output=True)
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("nothing says which rank this process is", nobody.stderr)


class GenerateTest(Model):
    """A small model, of which each rank loads its part."""

    page, config_file = "qwen3.etir", "qwen3-tiny.json"
    sizes = {"vocab_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.path / "tokenizer.json").write_text("{}")
        (cls.path / "tokenizers.py").write_text(TOKENIZERS)
        cls.programs = {ranks: cls.path / f"drawing{ranks}.etca" for ranks in ((2, 4) if ON_HOST else (2,))}
        for ranks, _ in cls.programs.items():
            cls.compiled(f"drawing{ranks}", "-D", f"tp={ranks}", "-D", "sampling=true", "--watchdog", "60")

    def words(self, ranks, *more):
        return [sys.executable, "-B", "-m", "etcrt.generate", self.programs[ranks], self.path, "5 17 900", "1000",
                "--max-tokens", 9, "--sms", min(SMS, 1), "--temperature", 0.8, "--seed", 11, "--quiet", *more]

    def together(self, command, ranks, **more):
        paths = os.pathsep.join([str(ROOT / "src" / "python"), str(self.path)])
        with Processes(command, ranks, PYTHONPATH=paths, **more) as processes:
            return processes.ended()

    def test_ranks_make_the_tokens_of_one_process(self):
        for ranks in self.programs:
            with self.subTest(ranks=ranks):
                (code, alone, errors), = self.together(lambda rank, r=ranks: self.words(r), 1)
                self.assertEqual((code, errors), (0, ""))
                self.assertEqual([len(json.loads(line).split()) for line in alone.splitlines()], [9, 9])
                self.assertEqual(self.together(lambda rank, r=ranks: self.words(r, "--join"), ranks),
                                 [(0, alone if rank == 0 else "", "") for rank in range(ranks)])

    def test_all_ranks_have_the_same_tokens(self):
        script = ("import sys, json, etcrt\n"
                  "from etcrt.decoder import Decoder, Sampling\n"
                  "from etcrt.generate import generate\n"
                  "from etcrt.ranks import load_weights\n"
                  "group = etcrt.Group.join(sys.argv[1])\n"
                  "weights = load_weights(group.program, etcrt.Checkpoint(sys.argv[2]), group=group)\n"
                  "config = json.load(open(sys.argv[2] + '/config.json'))\n"
                  "ways = [Sampling(temperature=1.0, seed=seed) for seed in (3, 4)]\n"
                  f"decoder = Decoder(group.program, weights, config, 2, 64, {min(SMS, 1)}, ways, group=group)\n"
                  "print(generate(decoder, [[5, 17], [900]], 8, [], lambda i, token: None), sum(w.bytes() for w in weights))\n")
        ended = self.together(lambda rank: [sys.executable, "-B", "-c", script, self.programs[2], self.path], 2)
        self.assertEqual([(code, errors) for code, _, errors in ended], [(0, ""), (0, "")])
        self.assertEqual(ended[0][1], ended[1][1])
        tokens, size = ended[0][1].rsplit(maxsplit=1)
        self.assertEqual([len(text) for text in json.loads(tokens)], [8, 8])
        self.assertLess(int(size), (self.path / "model.safetensors").stat().st_size)

    def without_weights(self):
        folder = self.path / "without_weights"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text((self.path / "config.json").read_text())
        (folder / "tokenizer.json").write_text("{}")
        return folder

    def test_an_error_names_the_rank_and_ends_the_others(self):
        empty = self.without_weights()

        def command(rank):
            words = self.words(2, "--join")
            return [*words[:5], empty if rank == 1 else self.path, *words[6:]]
        (code, out, errors), (other_code, _, other_errors) = self.together(command, 2)
        self.assertEqual((code, out, other_code), (1, "", 1))
        self.assertRegex(errors, "^etc-generate: error: rank 1 (is gone|has left the group)")
        self.assertRegex(other_errors, "^etc-generate: error: rank 1: ")

    def test_what_does_not_fit_is_said_before_weights_are_loaded(self):
        bare = self.without_weights()
        for words, message in ((["--logprobs"], "--logprobs: the program was compiled without"),
                               (["--max-tokens", 100000], "positions are more than the program's"),
                               (["--sms", 9999], "9999")):
            def command(rank, more=words):
                words = self.words(2, *more)
                return [*words[:5], bare, *words[6:]]
            (code, out, errors), = self.together(command, 1)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(message, errors)

    @unittest.skipUnless(ON_HOST, "on a GPU a launch that waits is not the call that waits")
    def test_a_rank_that_goes_on_when_another_has_left(self):
        artifact = self.path / "unwatched.etca"
        self.compiled("unwatched", "-D", "tp=2", "-D", "sampling=true")

        def command(rank):
            words = self.words(2, "--join", "--max-tokens", 4 + 20 * rank)
            return [*words[:4], artifact, *words[5:7], *words[8:]]  # one prompt: all launches have one size
        (code, _, errors), (other_code, _, other_errors) = self.together(command, 2)
        self.assertEqual((code, errors, other_code), (0, "", 1))
        self.assertRegex(other_errors, "^etc-generate: error: rank 0 has left the group, and a launch of rank 1 waits")

    def test_a_rank_that_does_not_come(self):
        (code, _, errors), = self.together(lambda rank: self.words(2, "--join", "--join-timeout", 2), 2, started=1)
        self.assertEqual(code, 1)
        self.assertRegex(errors, r"^etc-generate: error: rank 1 has not come to 127.0.0.1:\d+ within 2 s")


del Model  # its tests are those of derived classes

if __name__ == "__main__":
    unittest.main()
