"""Texts from prompts without a model: what steps get, what is refused, and what a folder may have."""

import contextlib
import datetime
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "python"))

from etcrt.decoder import Decoder, Piece, Sampling  # noqa: E402
from etcrt.folder import (chat_text, check_constants, check_tokens, end_tokens, model_config,  # noqa: E402
                          tokens_of)
from etcrt.generate import _Printer, generate, main  # noqa: E402
from etcrt.rotary import _llama3_scaled, rotary_frequencies  # noqa: E402

try:
    import jinja2
except ImportError:
    jinja2 = None


class Counter:
    """The next token is the last one and 1."""

    def __init__(self, most_rows, several, draws=False):
        self.most_rows, self.several, self.draws = most_rows, several, draws
        self.batch, self.positions = 2, 512
        self.seen = []
        self.followed = []

    def check_tokens(self, tokens):
        if max(tokens) >= 2000:
            raise ValueError("a token is not from 0 to 1999")

    def step(self, pieces):
        self.seen.append([(piece.sequence, piece.position, list(piece.tokens)) for piece in pieces])
        self.last = [piece.tokens[-1] + 1 for piece in pieces]
        return self.last

    def follow(self, steps, ahead, wanted):
        launched = seen = 0
        while seen < launched or (launched < steps and wanted()):
            while launched + 2 <= min(steps, seen + ahead) and wanted():
                launched += 2
            seen += 1
            self.last = [token + 1 for token in self.last]
            yield self.last
        self.followed.append((steps, launched))


class GenerateTest(unittest.TestCase):
    def test_prompts_of_different_lengths_go_through_one_batch(self):
        counter, told = Counter(2, False), []
        made = generate(counter, [[10, 20, 30], [5]], 4, [32, 9],
                        lambda i, token: told.append((i, token)))
        self.assertEqual(made, [[31], [6, 7, 8]])
        self.assertEqual(counter.seen[:3], [[(0, 0, [10]), (1, 0, [5])], [(0, 1, [20]), (1, 1, [6])],
                                            [(0, 2, [30]), (1, 2, [7])]])
        self.assertEqual(sorted(told), [(0, 31), (1, 6), (1, 7), (1, 8)])

    def test_prompts_go_in_pieces_beside_other_sequences(self):
        counter = Counter(4, True)
        made = generate(counter, [[1, 2, 3, 4, 5], [20, 30]], 3, [], lambda i, token: None)
        self.assertEqual(made, [[6, 7, 8], [31, 32, 33]])
        self.assertEqual(counter.seen[0], [(0, 0, [1, 2, 3]), (1, 0, [20])])
        self.assertEqual(counter.seen[1], [(0, 3, [4, 5]), (1, 1, [30])])
        self.assertEqual(counter.seen[2], [(0, 5, [6]), (1, 2, [31])])

    def test_a_prompt_takes_the_fewest_steps(self):
        counter = Counter(128, True)
        generate(counter, [list(range(300))], 1, [], lambda i, token: None)
        self.assertEqual([len(step[0][2]) for step in counter.seen], [128, 128, 44])

    def test_steps_follow_each_other_where_a_program_draws(self):
        counter, told = Counter(2, False, draws=True), []
        made = generate(counter, [[10, 20], [5]], 12, [9], lambda i, token: told.append((i, token)),
                        ahead=4)
        self.assertEqual(made, [list(range(21, 33)), [6, 7, 8]])  # 9 ends a text, and is seen behind
        self.assertEqual(counter.followed, [(10, 4), (6, 6)])
        self.assertEqual(counter.seen, [[(0, 0, [10]), (1, 0, [5])], [(0, 1, [20]), (1, 1, [6])],
                                        [(0, 6, [25])]])
        self.assertEqual([token for i, token in told if i == 1], [6, 7, 8])

    def test_no_token_is_made_where_none_is_asked_for(self):
        counter = Counter(2, False)
        self.assertEqual(generate(counter, [[10, 20], [5]], 0, [], print), [[], []])
        self.assertEqual(counter.seen, [])

    def test_prompts_that_do_not_fit_are_refused_before_a_step(self):
        for prompts, count, message in (([[1]], -1, "-1 new tokens"), ([[1], []], 1, "prompt 1 has no tokens"),
                                        ([[1], [2], [3]], 1, "3 prompts are more than the decoder's 2 sequences"),
                                        ([[1], [2000]], 1, "not from 0 to 1999"),
                                        ([[1], [2] * 400], 114, "prompt 1 and its new tokens need 513 positions")):
            counter = Counter(2, False)
            with self.assertRaisesRegex(ValueError, message):
                generate(counter, prompts, count, [], print)
            self.assertEqual(counter.seen, [])
        self.assertEqual(len(generate(Counter(2, False), [[2] * 400], 113, [], lambda i, token: None)[0]), 113)
        for draws in (False, True):
            with self.assertRaisesRegex(ValueError, "^`max_tokens` is a whole number, and not 2.5$"):
                generate(Counter(2, False, draws), [[1]], 2.5, [], print)

    def test_steps_ahead_that_cannot_be_are_refused_before_a_step(self):
        for draws in (False, True):
            for ahead in (-1, 0, 1.5, 65):
                counter = Counter(2, False, draws)
                with self.assertRaisesRegex(ValueError, f"`ahead` is from 1 to 64, and not {ahead}$"):
                    generate(counter, [[1]], 8, [], print, ahead)
                self.assertEqual(counter.seen, [])

    def test_a_text_is_printed_as_its_tokens_come(self):
        """Of a tokenizer whose words lose the space in front of a text, and whose token 9 is the first
        byte of a character and 8 the second."""
        seen = []

        def decode(tokens):
            seen.append(len(tokens))
            text = "".join(" word" if token == 1 else "\u00e9" if token == 98 else "\ufffd"
                           for token in self.joined(tokens))
            return text.removeprefix(" ")
        for tokens, text in (([1, 1, 9, 8, 1], "word word\u00e9 word"), ([1, 9], "word\ufffd"), ([], ""),
                             ([1] * 100, " ".join(["word"] * 100))):
            printer, out = _Printer(SimpleNamespace(decode=decode)), io.StringIO()
            with contextlib.redirect_stdout(out):
                for token in tokens:
                    printer.add(token)
                printer.end()
            self.assertEqual(out.getvalue(), text + "\n")
        self.assertLess(max(seen), 5)  # and not all tokens each time

    @staticmethod
    def joined(tokens):
        made = []
        for token in tokens:
            if token == 8 and made and made[-1] == 9:
                made[-1] = 98
            else:
                made.append(token)
        return made

    def test_what_cannot_be_drawn_is_refused(self):
        for settings in ({"temperature": -1}, {"temperature": 1e-6}, {"temperature": float("nan")},
                         {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}, {"min_p": -0.1}, {"min_p": 2},
                         {"repetition_penalty": 0}, {"repetition_penalty": float("inf")},
                         {"repetition_penalty": 1e39}, {"repetition_penalty": 1e-50}, {"temperature": 1e39},
                         {"top_k": 1.5}, {"seed": 1.5}, {"seed": 2**64}):
            with self.assertRaises(ValueError, msg=settings):
                Sampling(**settings)
        Sampling(temperature=0.7, top_k=np.int32(50), top_p=1, min_p=1, repetition_penalty=1.2, seed=2**64 - 1)

    def test_rotary_frequencies(self):
        plain = rotary_frequencies({"head_dim": 4, "rope_theta": 100.0})
        np.testing.assert_allclose(plain, [1, 0.1])
        gemma = rotary_frequencies({"head_dim": 4, "rope_theta": 1e6, "rope_local_base_freq": 100.0,
                                    "rope_scaling": {"rope_type": "linear", "factor": 8.0}})
        np.testing.assert_allclose(gemma, [1, 0.1, 0.125, 1e-3 / 8])
        part = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}
        np.testing.assert_allclose(rotary_frequencies({"head_dim": 8, "rope_parameters": part}), [1, 0.1, 0, 0])
        np.testing.assert_allclose(rotary_frequencies({"head_dim": 8, **part}), [1, 0.1, 0, 0])
        neox = {"head_dim": 8, "rotary_pct": 0.5, "rotary_emb_base": 100}
        np.testing.assert_allclose(rotary_frequencies(neox), [1, 0.1, 0, 0])
        scaling = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
        frequencies = _llama3_scaled([1.0, 1e-5], scaling)
        np.testing.assert_allclose(frequencies, [1.0, 1e-5 / 32])

    def test_rotary_frequencies_that_cannot_be_are_refused(self):
        llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8192}
        for members, message in (
                ({"rope_theta": None}, "`rope_theta` is null"), ({"rope_theta": "1"}, '`rope_theta` is "1"'),
                ({"rope_theta": 0}, "`rope_theta` is 0"), ({"rope_theta": -1.0}, "`rope_theta` is -1.0"),
                ({"rope_scaling": {"type": "odd"}}, "of the type `odd` is not known"),
                ({"rope_scaling": "linear"}, '`rope_scaling` is "linear", and must be an object'),
                ({"rope_scaling": {"type": "linear"}}, "has no `factor`"),
                ({"rope_scaling": {"type": "linear", "factor": 0}}, "`factor` is 0"),
                ({"rope_scaling": {"type": "linear", "factor": "8"}}, '`factor` is "8"'),
                ({"rope_scaling": llama3}, "`low_freq_factor` is 4.0, and must be less"),
                ({"rope_parameters": {"full_attention": {}}}, "has no `rope_theta`"),
                ({"partial_rotary_factor": 0.2}, "an even number of the 4 elements of a head must"),
                ({"partial_rotary_factor": 1.5}, "`partial_rotary_factor` is 1.5, and an even"),
                ({"partial_rotary_factor": "1"}, '`partial_rotary_factor` is "1"'),
                ({"head_dim": 0}, "`head_dim` is 0"), ({"head_dim": 4.5}, "`head_dim` is 4.5"),
                ({"head_dim": None, "hidden_size": 8}, "has no `num_attention_heads`")):
            with self.assertRaisesRegex(ValueError, f"config.json.*{message}", msg=members):
                rotary_frequencies({"head_dim": 4, **members})


class StepTest(unittest.TestCase):
    """What a step looks at before it touches the program."""

    def decoder(self, several):
        decoder = Decoder.__new__(Decoder)
        decoder.several, decoder.batch, decoder.positions, decoder.ids = several, 2, 64, (0, 1007)
        decoder.most_rows = 8 if several else 2
        return decoder

    def test_pieces_that_do_not_fit_are_refused(self):
        for pieces, message in (
                ([], "no piece"), ([Piece(2, 0, [1])], "no sequence 2"), ([Piece(-1, 0, [1])], "no sequence -1"),
                ([Piece(0, 0, [])], "has no token"), ([Piece(0, -1, [1])], "from -1 on"),
                ([Piece(0, 63, [1, 2])], "64 positions, and none for 2 tokens from 63 on"),
                ([Piece(0, 0, [1]), Piece(0, 1, [1])], "two pieces are of one sequence"),
                ([Piece(0, 0, [1, 1008])], "token 1008 is not from 0 to 1007"), ([Piece(0, 0, [-1])], "token -1"),
                ([Piece(0, 0, [1.5])], "a token is a whole number, and not 1.5"),
                ([Piece(0, 0.0, [1])], "a position is a whole number, and not 0.0"),
                ([Piece(None, 0, [1])], "a sequence is a whole number, and not None"),
                ([Piece(0, 0, [1] * 5), Piece(1, 0, [1] * 4)], "9 tokens in a step are more than the program's 8")):
            with self.assertRaisesRegex(ValueError, message):
                self.decoder(True).step(pieces)
        with self.assertRaisesRegex(ValueError, "has 2 tokens, and the program was compiled without"):
            self.decoder(False).step([Piece(0, 0, [1, 2])])

    def test_steps_follow_no_further_than_the_caches(self):
        decoder = self.decoder(False)
        decoder.draws = True
        for begun in ([], [3, 61]):
            decoder._next = begun
            with self.assertRaisesRegex(ValueError, "4 steps cannot follow"):
                next(decoder.follow(4, 2, lambda: True))
        for steps in (-2, 0, 3):
            with self.assertRaisesRegex(ValueError, f"{steps} steps cannot follow"):
                next(decoder.follow(steps, 2, lambda: True))

    def test_frequencies_have_the_size_of_the_program(self):
        decoder = self.decoder(False)
        decoder._params = {"inv_freq": SimpleNamespace(extents=("32",))}
        self.assertEqual(len(decoder._frequencies({"head_dim": 64})), 32)
        with self.assertRaisesRegex(ValueError, "`head_dim` makes 16 rotary frequencies, and the program takes 32"):
            decoder._frequencies({"head_dim": 32})


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        self.write("config.json", {})

    def write(self, name, value):
        (self.folder / name).write_text(value if isinstance(value, str) else json.dumps(value))


class FolderTest(Folder):
    def ended(self, *words, constants={}):
        """Exit code and errors of the command, of a program with these constants."""
        errors, program = io.StringIO(), SimpleNamespace(constants=lambda: constants)
        with contextlib.redirect_stderr(errors), mock.patch("etcrt.generate.Program", lambda path: program):
            try:
                code = main(["program.etca", str(self.folder), "a prompt", *words])
            except SystemExit as ended:
                code = ended.code
        return code, errors.getvalue()

    def test_numbers_that_do_not_fit_are_errors_of_the_command_line(self):
        for option, value, message in (("--max-tokens", "-1", "-1 is not from 0 to 2147483647"),
                                       ("--sms", "5000000000", "5000000000 is not from 0 to 2147483647"),
                                       ("--devices", "0,5000000000", "5000000000 is not from 0 to 2147483647"),
                                       ("--join-timeout", "inf", "inf is not from 0 to 2147483"),
                                       ("--join-timeout", "nan", "nan is not from 0 to 2147483")):
            code, errors = self.ended(option, value)
            self.assertEqual(code, 2)
            self.assertIn(f"{option}: {message}", errors)

    def test_files_that_cannot_be_are_one_line(self):
        for name, value, message in (("config.json", [], "no JSON object"), ("config.json", "{", "Expecting"),
                                     ("config.json", {"text_config": 1}, "`text_config` must be an object"),
                                     ("config.json", {"head_dim": 32}, "`head_dim` is 32, and .* with 64"),
                                     ("config.json", {"eos_token_id": "2"}, '`eos_token_id` is "2"'),
                                     ("generation_config.json", 3, "no JSON object"),
                                     ("generation_config.json", {"eos_token_id": [1, None]}, "`eos_token_id`")):
            with self.subTest(name=name, value=value):
                self.write("config.json", {})
                self.write(name, value)
                code, errors = self.ended(constants={"head_dim": 64})
                self.assertEqual(code, 1)
                self.assertRegex(errors, f"^etc-generate: error: .*{name}: .*{message}.*\n$")
                (self.folder / name).unlink()

    def test_a_prompt_that_is_no_text_is_named(self):
        with self.assertRaisesRegex(ValueError, r'^the prompt "\\udcff" is no UTF-8$'):
            tokens_of(None, "\udcff", True)

    def test_a_missing_configuration_is_named(self):
        (self.folder / "config.json").unlink()
        self.assertEqual(self.ended(), (1, f"etc-generate: error: {self.folder / 'config.json'} is missing\n"))

    def test_a_pipe_is_not_waited_for(self):
        package = SimpleNamespace(Tokenizer=SimpleNamespace(from_file=lambda path: None))
        for name in ("config.json", "generation_config.json", "tokenizer.json"):
            with self.subTest(name=name), mock.patch.dict(sys.modules, tokenizers=package):
                self.write("config.json", {})
                (self.folder / name).unlink(missing_ok=True)
                os.mkfifo(self.folder / name)
                code, errors = self.ended()
                self.assertEqual(code, 1)
                self.assertRegex(errors, f"^etc-generate: error: .*{name}: it is no regular file\n$")
                (self.folder / name).unlink()

    def test_a_tokenizer_that_cannot_be_is_one_line(self):
        def from_file(path):
            raise Exception("expected a model")
        package = SimpleNamespace(Tokenizer=SimpleNamespace(from_file=from_file))
        with mock.patch.dict(sys.modules, tokenizers=package):
            self.assertRegex(self.ended()[1], "^etc-generate: error: .*tokenizer.json is missing\n$")
            self.write("tokenizer.json", "{}")
            self.assertRegex(self.ended()[1], "^etc-generate: error: .*tokenizer.json: expected a model\n$")

    def test_tokens_beyond_the_program_are_named(self):
        tokenizer = SimpleNamespace(id_to_token=lambda token: f"w{token}")
        check_tokens(tokenizer, [[0, 1007]], (0, 1007))
        with self.assertRaisesRegex(ValueError, 'the token 1008, "w1008", is not from 0 to 1007'):
            check_tokens(tokenizer, [[1], [2, 1008]], (0, 1007))

    def test_constants_are_those_of_the_folder(self):
        config = {"eps": 1e-5, "tied": True, "window": None, "max_position_embeddings": 4096, "other": "x"}
        check_constants(config, {"eps": 1e-5, "tied": True, "window": 0, "max_position_embeddings": 64})
        with self.assertRaisesRegex(ValueError, "`eps` is 1e-05, and the program was compiled with 1e-06"):
            check_constants(config, {"eps": 1e-6})

    def test_tokens_that_end_a_text(self):
        self.assertEqual(end_tokens(self.folder, {}), [])
        self.assertEqual(end_tokens(self.folder, {"eos_token_id": 2}), [2])
        self.write("generation_config.json", {"eos_token_id": [3, 4]})
        self.assertEqual(end_tokens(self.folder, {"eos_token_id": 2}), [3, 4])

    def test_the_model_of_text_in_a_configuration(self):
        self.write("config.json", {"text_config": {"head_dim": 64}})
        self.assertEqual(model_config(self.folder), ({"head_dim": 64}, "language_model."))


@unittest.skipIf(jinja2 is None, "jinja2 is missing")
class ChatTest(Folder):
    def test_a_template_may_stand_alone(self):
        self.write("chat_template.jinja", "{{ bos_token }}<{{ messages[0].content }}>")
        self.assertEqual(chat_text(self.folder, "hello"), "<hello>")
        self.write("tokenizer_config.json", {"bos_token": {"content": "<s>"}, "eos_token": None})
        self.assertEqual(chat_text(self.folder, "hello"), "<s><hello>")

    def test_the_default_one_of_several_templates(self):
        self.write("tokenizer_config.json", {"chat_template": [{"name": "tool_use", "template": "no"},
                                                               {"name": "default", "template": "yes"}]})
        self.assertEqual(chat_text(self.folder, "hello"), "yes")

    def test_templates_may_use_what_they_are_given(self):
        self.write("chat_template.jinja", "{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}"
                                          "{% endfor %} {{ strftime_now('%Y') }}{% if tools is not none %}x{% endif %}")
        self.assertEqual(chat_text(self.folder, ""), f"1 {datetime.datetime.now().year}")

    def test_templates_that_fail_are_errors(self):
        for template, message in (("{{ raise_exception('no user') }}", "the chat template of .*: no user$"),
                                  ("a\n{% if %}", "line 2 of the chat template of"),
                                  ("{{ absent.member }}", "'absent' is undefined"),
                                  ("{{ absent() }}", "'absent' is undefined"),
                                  ("{{ 1 + 'x' }}", "the chat template of .*unsupported operand")):
            self.write("chat_template.jinja", template)
            with self.assertRaisesRegex(ValueError, message):
                chat_text(self.folder, "hello")

    def test_a_template_that_is_no_text_is_named(self):
        (self.folder / "chat_template.jinja").write_bytes(b"\xff")
        with self.assertRaisesRegex(ValueError, "chat_template.jinja: 'utf-8' codec"):
            chat_text(self.folder, "hello")

    def test_a_template_that_is_a_pipe_is_not_waited_for(self):
        for name in ("tokenizer_config.json", "chat_template.jinja"):
            os.mkfifo(self.folder / name)
            with self.assertRaisesRegex(ValueError, f"{name}: it is no regular file"):
                chat_text(self.folder, "a")
            (self.folder / name).unlink()

    def test_no_template_is_an_error(self):
        for settings in ({}, {"chat_template": []}, {"chat_template": 3}, []):
            self.write("tokenizer_config.json", settings)
            with self.assertRaisesRegex(ValueError, "has no chat template|`chat_template` must be|no JSON object"):
                chat_text(self.folder, "hello")


if __name__ == "__main__":
    unittest.main()
