"""Steps that repeat, over fakes: they give the tokens that vLLM's own way gives, without its preparations."""

import logging
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import etc_vllm_test as plugin  # noqa: E402  (the program and the weights, and where the packages are)
import etcrt  # noqa: E402
import fake_engine  # noqa: E402
import fakes  # noqa: E402
from etc_vllm.decoder import Decoder  # noqa: E402
from etc_vllm.hooks import install  # noqa: E402
from etc_vllm.repeats import BEFORE  # noqa: E402


class RepeatsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        arrays = ["--array", "k_cache,v_cache"]
        cls.artifact = plugin.compiled(cls.folder.name, "arrays", arrays)
        cls.several = plugin.compiled(cls.folder.name, "several", [*arrays, *plugin.SEVERAL])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.graphs = fake_engine.Graphs()

    def scheduler(self, graphs, artifact=None):
        """Of an engine whose steps are captured by `graphs`."""
        artifact = artifact or self.artifact
        made = type("Runner", (fake_engine.Runner,), dict(
            weights=plugin.WEIGHTS, fused=plugin.FUSED, tensors=fakes.caches(2, 16, 2, 64, 8),
            __module__=fake_engine.__name__))
        open_decoder = lambda runner: Decoder(etcrt.Program(artifact), plugin.CONFIG, fakes.Torch, None)
        install(made, artifact, open_decoder, lambda runner: graphs)
        runner = made()
        runner.load_model()
        runner.initialize_kv_cache(None)
        return fake_engine.Scheduler(runner)

    def both(self):
        """An engine with graphs, and one that launches each call."""
        none = fake_engine.Graphs(fails=True)
        with self.assertLogs("vllm.etc"):  # says so, once
            other = self.scheduler(none)
            self.drive(other, [("add", "x", 1)] + [("step",)] * (BEFORE + 1) + [("end", "x")])
        return self.scheduler(self.graphs), other

    def drive(self, scheduler, script):
        """The tokens of the steps of a script."""
        tokens = []
        for action, *words in script:
            if action == "step":
                tokens.append(scheduler.step(*words))
            else:
                getattr(scheduler, action)(*words)
        return tokens

    def compare(self, script):
        """The tokens, which are the same both ways, and the engine with graphs."""
        scheduler, other = self.both()
        tokens = self.drive(scheduler, script)
        self.assertEqual(tokens, self.drive(other, script))
        return tokens, scheduler.runner

    def test_a_long_run_is_prepared_only_at_its_beginning(self):
        tokens, runner = self.compare([("add", "a", 3), ("add", "b", 5)] + [("step",)] * 150)
        self.assertEqual(len(tokens), 150)
        self.assertEqual(runner.prepared, BEFORE)
        self.assertEqual([graph.replays for graph in self.graphs.captured], [150 - BEFORE] * 2)
        self.assertEqual(runner.main_stream.waits, 150 - BEFORE - 1)  # for the copy of the step before

    @mock.patch("etc_vllm.steps.LEAST_PAGES", 1)
    def test_a_step_is_captured_anew_where_its_page_table_has_no_more_room(self):
        widths, page_table = set(), Decoder._page_table

        def noted(decoder, sequences, width):
            widths.add(width)
            return page_table(decoder, sequences, width)

        with mock.patch.object(Decoder, "_page_table", noted):
            _, runner = self.compare([("add", "a", 3), ("add", "b", 5)] + [("step",)] * 150)
        self.assertEqual(widths, {1, 2, 3})
        self.assertEqual(runner.prepared, BEFORE)
        self.assertEqual([graph.replays for graph in self.graphs.captured],
                         [64 - BEFORE] * 2 + [64] * 2 + [150 - 128] * 2)

    def test_a_sequence_that_comes_or_goes_ends_a_run(self):
        script = ([("add", "a", 3)] + [("step",)] * 10 + [("add", "b", 5)] + [("step",)] * 10 +
                  [("end", "a")] + [("step",)] * 10)
        _, runner = self.compare(script)
        self.assertEqual(runner.prepared, 3 * BEFORE)
        self.assertEqual(len(self.graphs.captured), 6)

    def test_a_slot_that_is_used_again_starts_anew(self):
        _, runner = self.compare([("add", "a", 3)] + [("step",)] * 8 + [("end", "a"), ("add", "a", 2)] +
                                 [("step",)] * 8)
        self.assertEqual(runner.prepared, 2 * BEFORE)

    def test_a_grammar_draws_from_the_logits_of_the_captured_step(self):
        script = ([("add", "a", 3)] + [("step",)] * 8 + [("step", 7)] + [("step",)] * 4)
        tokens, runner = self.compare(script)
        self.assertEqual(tokens[8], {"a": 7})
        self.assertEqual(runner.prepared, BEFORE)

    def test_positions_behind_the_programs_are_vllms(self):
        scheduler = self.scheduler(self.graphs)
        self.drive(scheduler, [("add", "a", 3)] + [("step",)] * 192)
        scheduler.runner.model.compute_logits = lambda hidden_states: [[0.0] * 15 + [1.0]]
        graphs = scheduler.runner.cudagraph_manager.runs
        self.assertEqual(self.drive(scheduler, [("step",)]), [{"a": 15}])
        self.assertEqual(scheduler.runner.cudagraph_manager.runs, graphs + 1)

    def test_steps_with_anything_else_are_not_repeated(self):
        scheduler = self.scheduler(self.graphs)
        self.drive(scheduler, [("add", "a", 3)] + [("step",)] * (BEFORE + 2))
        for others in (dict(scheduled_spec_decode_tokens={"a": [1]}), dict(preempted_req_ids={"z"}),
                       dict(kv_connector_metadata="transfer"), dict(scheduled_encoder_inputs={"a": 1})):
            before = scheduler.runner.prepared
            scheduler.step(**others)
            self.assertEqual(scheduler.runner.prepared, before + 1)

    def test_prompts_token_by_token_are_not_repeated(self):
        scheduler = self.scheduler(self.graphs, self.several)
        self.drive(scheduler, [("add", "a", 3)])
        for _ in range(2 * BEFORE):
            scheduler.step(prefilling={"a"})
        self.assertEqual(scheduler.runner.cudagraph_manager.runs, 0)  # the program's all the same
        self.assertEqual(self.graphs.captured, [])
        self.drive(scheduler, [("step",)] * (BEFORE + 3))
        self.assertEqual([graph.replays for graph in self.graphs.captured], [3, 3])

    def test_draws_from_a_stream_of_numbers_are_not_captured(self):
        scheduler = self.scheduler(self.graphs)
        sampler = scheduler.runner.sampler
        sampler.use_flashinfer = True
        self.drive(scheduler, [("add", "a", 3)])
        sampler.sampling_states.top_p.np[:] = 0.5
        self.drive(scheduler, [("step",)] * 10)
        self.assertEqual(self.graphs.captured, [])
        sampler.sampling_states.top_p.np[:] = 1.0
        self.drive(scheduler, [("step",)] * 10)
        self.assertEqual(len(self.graphs.captured), 2)

    def test_a_capture_that_fails_leaves_steps_as_they_were(self):
        scheduler = self.scheduler(fake_engine.Graphs(fails=True))
        with self.assertLogs("vllm.etc", logging.WARNING) as logs:
            self.drive(scheduler, [("add", "a", 3)] + [("step",)] * 20)
        self.assertEqual([record.getMessage() for record in logs.records],
                         ["etc: steps that repeat are launched call by call: "
                          "a sampler waits for the device"])
        self.assertEqual(scheduler.runner.prepared, 20)


if __name__ == "__main__":
    unittest.main()
