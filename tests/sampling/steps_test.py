"""Steps of a small model that draw: each token is that of the step's logits, and steps that follow
each other without the host draw what single steps do. $ETC compiles, $ETCRT is the runtime library. With
$ETC_DEVICE, options of `etc compile`, they run on a GPU or on the emulated device, else on the host. Two
ranks then share a device, or have those of $ETC_RANK_DEVICES."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src" / "python"))

import etcrt  # noqa: E402
from etcrt.decoder import Decoder, Sampling  # noqa: E402
from etcrt.generate import generate  # noqa: E402
from etcrt.ranks import load_weights  # noqa: E402
from sampler import Settings, token  # noqa: E402

DEVICE = os.environ.get("ETC_DEVICE")
TARGET, SMS = (["--arch", "host"], 2) if DEVICE is None else (DEVICE.split(), 0)
RANK_DEVICES = [int(word) for word in os.environ.get("ETC_RANK_DEVICES", "0,0").split(",")]
CONFIGS = ROOT / "ir-examples" / "configs"
PROMPTS = [[5, 17, 900], [1000]]
SAMPLING = [Sampling(temperature=0.8, top_k=40, top_p=0.95, repetition_penalty=1.3, seed=11),
            Sampling(temperature=1.2, min_p=0.02, seed=2**63 + 5)]


def mlp_shapes(config):
    """The weights of a layer's MLP, or of its experts and their router, by name."""
    hidden, experts = config["hidden_size"], config.get("num_experts", 0)
    inner = config["moe_intermediate_size" if experts else "intermediate_size"]
    names = [f"mlp.experts.{expert}" for expert in range(experts)] or ["mlp"]
    shapes = {"mlp.gate": (experts, hidden)} if experts else {}
    for name in names:
        shapes |= {f"{name}.gate_proj": (inner, hidden), f"{name}.up_proj": (inner, hidden),
                   f"{name}.down_proj": (hidden, inner)}
    return shapes


def write_checkpoint(folder, config):
    """Random weights, as bf16."""
    rng = np.random.default_rng(0)
    hidden, dim = config["hidden_size"], config["head_dim"]
    q_size, kv_size = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(config["num_hidden_layers"]):
        for name, shape in {
            "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,),
            "self_attn.q_proj": (q_size, hidden), "self_attn.k_proj": (kv_size, hidden),
            "self_attn.v_proj": (kv_size, hidden), "self_attn.o_proj": (hidden, q_size),
            "self_attn.q_norm": (dim,), "self_attn.k_norm": (dim,), **mlp_shapes(config),
        }.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    header, data = {}, b""
    for name, shape in shapes.items():
        scale = 1.0 if len(shape) == 1 else 3.0 * shape[-1] ** -0.5
        values = rng.standard_normal(shape).astype(np.float32) * scale
        array = (values.view(np.uint32) >> 16).astype(np.uint16)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


class Watched(Decoder):
    """Keeps what each step of its own had, and the logits that it left, of each row."""

    def step(self, pieces):
        tokens = super().step(pieces)
        rows, vocabulary = self._run.shape("logits")
        logits = np.frombuffer(self._buffers["logits"].read(4 * rows * vocabulary), np.float32)
        self.steps = getattr(self, "steps", []) + [(pieces, logits.reshape(rows, vocabulary), tokens)]
        return tokens


class Model(unittest.TestCase):
    """A small model of `page` and `config_file`, which a derived class names, with `sizes` of its own."""

    sizes: dict = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.config = json.loads((CONFIGS / cls.config_file).read_text()) | cls.sizes
        (cls.path / "config.json").write_text(json.dumps(cls.config))
        write_checkpoint(cls.path, cls.config)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compiled(cls, name, *options):
        path = cls.path / f"{name}.etca"
        subprocess.run([os.environ["ETC"], "compile", ROOT / "ir-examples" / cls.page,
                        "--config", cls.path / "config.json", *TARGET, "--no-proofs", *options, "-o", path], check=True)
        return etcrt.Program(path)

    def decoder(self, program, kind=Decoder, sampling=SAMPLING):
        devices = RANK_DEVICES if DEVICE is not None and program.mesh() else None
        weights = load_weights(program, etcrt.Checkpoint(self.path), devices)
        return kind(program, weights, self.config, 2, 64, SMS, sampling, devices)

    def texts(self, decoder, ahead, count=24):
        return generate(decoder, PROMPTS, count, [], lambda i, made: None, ahead)

    def check_steps(self, decoder):
        seen = np.zeros((2, 1008), bool)
        settings = [Settings(**{name: getattr(one, name) for name in vars(Settings())}) for one in SAMPLING]
        for pieces, logits, tokens in decoder.steps:
            ends = np.cumsum([len(piece.tokens) for piece in pieces])
            rows = range(len(pieces)) if decoder.last else ends - 1
            self.assertEqual(len(logits), rows[-1] + 1)
            for piece, row, drawn in zip(pieces, rows, tokens):
                i = piece.sequence
                seen[i, list(piece.tokens)] = True
                position = piece.position + len(piece.tokens)
                self.assertEqual(drawn, token(logits[row], seen[i], settings[i], position))


class StepsTest(Model):
    page, config_file = "qwen3.etir", "qwen3-tiny.json"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.drawing = cls.compiled("drawing", "-D", "sampling=true")

    def test_each_token_is_that_of_the_logits(self):
        decoder = self.decoder(self.drawing, Watched)
        made = self.texts(decoder, 1)
        self.assertEqual([len(text) for text in made], [24, 24])
        self.check_steps(decoder)

    def test_prompts_in_pieces_draw_by_the_same_rule(self):
        several = self.compiled("several", "-D", "sampling=true", "-D", "several_tokens=true")
        decoder = self.decoder(several, Watched)
        alone = self.texts(decoder, 1, 10)
        self.assertEqual(len(decoder.steps[0][0][0].tokens), 3)
        self.check_steps(decoder)
        self.assertEqual(self.texts(self.decoder(several), 4, 10), alone)

    def test_last_rows_alone_draw_by_the_same_rule(self):
        last = self.compiled("last", "-D", "sampling=true", "-D", "several_tokens=true", "-D", "last_logits=true",
                             "-D", "logprobs=2")
        decoder = self.decoder(last, Watched)
        alone = self.texts(decoder, 1, 10)
        self.assertEqual(decoder.steps[0][1].shape[0], 2)  # of 4 rows
        self.check_steps(decoder)
        self.assertEqual(decoder.scored[0].best[0][0], decoder.steps[-1][1][0].argmax())
        self.assertEqual(self.texts(self.decoder(last), 4, 10), alone)

    def test_log_probabilities_come_with_the_tokens(self):
        decoder = self.decoder(self.compiled("scored", "-D", "sampling=true", "-D", "logprobs=3"), Watched)
        told = []
        generate(decoder, PROMPTS, 5, [], lambda i, made: told.append((i, made, decoder.scored[i])), 1)
        self.assertEqual(len(told), 10)
        logits = {(piece.sequence, piece.position + 1): row for pieces, rows, _ in decoder.steps
                  for piece, row in zip(pieces, rows.astype(np.float64))}
        for number, (i, made, scored) in enumerate(told):
            count = sum(earlier[0] == i for earlier in told[:number])
            row = logits[i, len(PROMPTS[i]) + count]
            expected = row - row.max() - np.log(np.exp(row - row.max()).sum())
            best = np.argsort(-row, kind="stable")[:3]
            self.assertEqual([one for one, _ in scored.best], list(best))
            np.testing.assert_allclose([value for _, value in scored.best], expected[best], atol=1e-5)
            self.assertAlmostEqual(scored.logprob, expected[made], places=4)

    def test_steps_that_follow_each_other_draw_the_same(self):
        alone = self.texts(self.decoder(self.drawing), 1)
        self.assertEqual(self.texts(self.decoder(self.drawing), 5), alone)
        self.assertEqual(self.texts(self.decoder(self.drawing), 64), alone)

    def test_a_decoder_that_is_used_again_draws_the_same(self):
        decoder = self.decoder(self.drawing)
        self.assertEqual(self.texts(decoder, 1), self.texts(decoder, 1))

    def test_a_text_draws_the_same_alone(self):
        both = self.texts(self.decoder(self.drawing), 8)
        program = self.drawing
        weights = etcrt.Weights(program, etcrt.Checkpoint(self.path))
        decoder = Decoder(program, weights, self.config, 1, 64, SMS // 2, SAMPLING[1:])
        self.assertEqual(generate(decoder, PROMPTS[1:], 24, [], lambda i, made: None, 3), both[1:])

    def test_the_most_likely_tokens_are_those_of_a_program_that_does_not_draw(self):
        plain = self.compiled("plain")
        expected = self.texts(self.decoder(plain, sampling=()), 8)
        self.assertEqual(self.texts(self.decoder(self.drawing, sampling=()), 8), expected)
        with self.assertRaises(ValueError):
            self.decoder(plain)


class RanksTest(Model):
    """Two ranks, with a part of the checkpoint each. Their sums have another order than those of one, so
    logits are close, and tokens the same as long as no two are near ties. One rank pads the vocabulary to
    1008, two and four to 1024."""

    page, config_file, sizes = "qwen3.etir", "qwen3-tiny.json", {"vocab_size": 1003}

    def test_two_ranks_make_the_text_of_one(self):
        one = self.texts(self.decoder(self.compiled("one"), sampling=()), 1, 6)
        self.assertEqual(self.texts(self.decoder(self.compiled("two", "-D", "tp=2"), sampling=()), 1, 6), one)

    @unittest.skipIf(DEVICE is not None, "of the host, which has four ranks")
    def test_ranks_that_share_kv_heads_make_the_text_of_one(self):
        one = self.texts(self.decoder(self.compiled("one"), sampling=()), 1, 6)
        four = self.decoder(self.compiled("four", "-D", "tp=4"), sampling=())
        self.assertEqual(self.texts(four, 1, 6), one)

    def test_steps_of_two_ranks_follow_each_other(self):
        program = self.compiled("drawing", "-D", "tp=2", "-D", "sampling=true")
        count = 12 if DEVICE is None else 6  # a step of an emulated device takes a second
        alone = self.texts(self.decoder(program), 1, count)
        self.assertEqual([len(text) for text in alone], [count, count])
        self.assertEqual(self.texts(self.decoder(program), 4, count), alone)

    @unittest.skipIf(DEVICE is not None, "of the host")
    def test_places_that_do_not_fit_are_refused(self):
        checkpoint, two = etcrt.Checkpoint(self.path), self.compiled("two", "-D", "tp=2")
        with self.assertRaisesRegex(ValueError, "runs on the host, so its ranks have no devices"):
            load_weights(two, checkpoint, [0, 1])
        with self.assertRaisesRegex(ValueError, "weights of 1 ranks for 2"):
            Decoder(two, load_weights(two, checkpoint)[0], self.config, 2, 64)
        with self.assertRaisesRegex(ValueError, "2 devices: the program is for one, as it was compiled"):
            load_weights(self.compiled("one"), checkpoint, [0, 1])


class RanksOfExpertsTest(Model):
    """Two ranks with whole experts, which they take from the checkpoint by their numbers."""

    page, config_file, sizes = "qwen3_moe.etir", "qwen3moe-tiny.json", {"vocab_size": 1024}

    def test_whole_experts_make_the_text_of_parts(self):
        parts = self.decoder(self.compiled("parts", "-D", "tp=2"), Watched, ())
        whole = self.decoder(self.compiled("whole", "-D", "tp=2", "-D", "expert_parallel=true"), Watched, ())
        self.texts(parts, 1, 3)
        self.texts(whole, 1, 3)
        for (_, expected, _), (_, logits, _) in zip(parts.steps[:3], whole.steps):
            for row, other in zip(logits, expected):
                self.assertLess(np.linalg.norm(row - other), 0.03 * np.linalg.norm(other))
        again = self.decoder(self.compiled("whole", "-D", "tp=2", "-D", "expert_parallel=true"), Watched, ())
        self.texts(again, 1, 3)
        for (_, expected, _), (_, logits, _) in zip(whole.steps, again.steps):
            np.testing.assert_array_equal(logits, expected)


class MixtureTest(Model):
    """Without drawing, and with it in a program whose steps take prompts in pieces."""

    page, config_file = "qwen3_moe.etir", "qwen3moe-tiny.json"

    def test_prompts_in_pieces_go_on_as_those_of_single_tokens(self):
        several = self.decoder(self.compiled("several", "-D", "several_tokens=true"), Watched, ())
        single = self.decoder(self.compiled("single"), Watched, ())
        self.texts(several, 1, 4)
        self.texts(single, 1, 4)
        self.assertEqual([len(piece.tokens) for piece in several.steps[0][0]], [3, 1])
        # Sums have another order, so logits are close, and where two are near ties tokens may differ.
        rows = several.steps[0][1]
        for row, expected in ((rows[0], single.steps[0][1][0]), (rows[2], single.steps[2][1][0]),
                              (rows[3], single.steps[0][1][1])):
            self.assertLess(np.linalg.norm(row - expected), 0.03 * np.linalg.norm(expected))
            self.assertGreater(np.linalg.norm(row - np.roll(expected, 1)), np.linalg.norm(expected))

    def test_each_token_is_that_of_the_logits(self):
        drawing = self.compiled("drawing", "-D", "sampling=true", "-D", "several_tokens=true")
        decoder = self.decoder(drawing, Watched)
        made = self.texts(decoder, 1)
        self.assertEqual([len(text) for text in made], [24, 24])
        self.check_steps(decoder)
        self.assertEqual(self.texts(self.decoder(drawing), 4), made)


if __name__ == "__main__":
    unittest.main()
