"""The plugin for vLLM without vLLM and without a GPU: over fakes of vLLM's classes, and a host artifact
that $ETC compiles."""

import logging
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "src" / "vllm"), str(Path(__file__).parent)]

import etc_vllm  # noqa: E402
import etcrt  # noqa: E402
import fakes  # noqa: E402
from etc_vllm.decoder import Decoder  # noqa: E402
from etc_vllm.hooks import install  # noqa: E402
from etc_vllm.steps import Limits  # noqa: E402

# With what the library's decode steps take and give: the logits are sums over what is cached.
DECODE = """etir 1;
const layers = 2;
const more = false;
const mixture = false;
const several = false;
const last_logits = false;
dim batch in 1..6;
dim extra in 0..select(several, 5, 0);
require extra < batch;
let sequences = select(several, batch - extra, batch);
dim max_pages in 1..3;
dim num_pages in 1..64;
device @zero(%logits: out f32[sequences, 16]) tasks (b: sequences) {
  for (j: 16) %logits[b, j] = 0.0;
}
device @layer(%ids: i32[batch], %row_start: i32[sequences + 1] if several,
              %pos: i32[sequences] in 0 .. max_pages * 64,
              %page_table: i32[sequences, max_pages] in 0..num_pages distinct, %w: bf16[16, 8],
              %up: bf16[3, 16, 8] if mixture,
              %k_cache: inout bf16[num_pages, 2, 64, 8], %v_cache: inout bf16[num_pages, 2, 64, 8],
              %logits: inout f32[sequences, 16]) tasks (b: sequences) {
  let begin = select(several, %row_start[b], b);
  let rows = select(several, %row_start[b + 1] - %row_start[b], 1);
  for (r: rows, h: 2, d: 8) {
    let position = %pos[b] + r;
    %k_cache[%page_table[b, position / 64], h, position % 64, d] = f32(%ids[begin + r]);
    %v_cache[%page_table[b, position / 64], h, position % 64, d] = f32(%ids[begin + r] + 1);
  }
  for (j: 16) {
    %logits[b, j] = %logits[b, j] + %w[j, 0] +
        sum(t: %pos[b] + rows) (%k_cache[%page_table[b, t / 64], j / 8, t % 64, j % 8] +
                                4.0 * %v_cache[%page_table[b, t / 64], j / 8, t % 64, j % 8]);
    if (mixture) %logits[b, j] = %logits[b, j] + sum(e: 3) %up[e, j, 0];
  }
}
device @first(%logits: f32[sequences, 16], %inv_freq: f32[4], %token: out i32[sequences])
    tasks (b: sequences) {
  %token[b] = argmax(v: 16) %logits[b, v] * %inv_freq[0];
}
graph @decode(%ids: i32[batch] in 0..16, %row_start: i32[sequences + 1] in 0..batch + 1 monotone if several,
              %pos: i32[s: sequences] in 0 .. max_pages * 64 -
                  select(several, max(0, %row_start[s + 1] - %row_start[s] - 1), 0),
              %page_table: i32[sequences, max_pages] in 0..num_pages distinct, %inv_freq: f32[4],
              %bias: f32[batch] if more,
              %w: bf16[layers, 16, 8] from "model.layers.{l}.q_proj.weight",
              %up: bf16[layers, 3, 16, 8] if mixture
                  from "model.layers.{l}.mlp.experts.{e}.up_proj.weight",
              %k_cache: inout bf16[layers, num_pages, 2, 64, 8],
              %v_cache: inout bf16[layers, num_pages, 2, 64, 8], %logits: out f32[sequences, 16],
              %token: out i32[sequences]) {
  call @zero(%logits);
  repeat l in 0..layers {
    call @layer(%ids, %row_start, %pos, %page_table, %w[l], %up[l], %k_cache[l], %v_cache[l], %logits);
  }
  call @first(%logits, %inv_freq, %token);
}
"""
CONFIG = {"head_dim": 8, "rope_theta": 10000.0}
WEIGHTS = {f"model.layers.{layer}.qkv.weight":
           fakes.brain_floats([[100 * layer + row] * 8 for row in range(32)]) for layer in (0, 1)}
# Of each layer three experts, with 16 rows of `gate_proj` and as many of `up_proj`.
EXPERTS = {f"model.layers.{layer}.mlp.experts.routed_experts.w13_weight":
           fakes.brain_floats([[[1 << expert] * 8 if row > 15 else [99] * 8 for row in range(32)]
                               for expert in range(3)]) for layer in (0, 1)}
SEVERAL = ["-D", "several=true", "-D", "last_logits=true"]
FUSED = {"qkv": ["q_proj", "k_proj"]}


def compiled(folder, name, options):
    """A host artifact of DECODE."""
    text, artifact = Path(folder) / "decode.etir", os.path.join(folder, f"{name}.etca")
    text.write_text(DECODE)
    subprocess.run([os.environ["ETC"], "compile", text, "--arch", "host", "-o", artifact, *options],
                   check=True)
    return artifact


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        arrays = ["--array", "k_cache,v_cache"]
        cls.artifacts = {name: compiled(cls.folder.name, name, options)
                         for name, options in (("stacked", []), ("arrays", arrays),
                                               ("more", [*arrays, "-D", "more=true"]),
                                               ("several", [*arrays, *SEVERAL]),
                                               ("all rows", [*arrays, "-D", "several=true"]),
                                               ("mixture", [*arrays, "-D", "mixture=true"]),
                                               ("several of a mixture",
                                                [*arrays, *SEVERAL, "-D", "mixture=true"]))}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.caches = fakes.caches(2, 5, 2, 64, 8)
        self.opened = []

    def decoder(self, artifact="arrays"):
        return Decoder(etcrt.Program(self.artifacts[artifact]), CONFIG, fakes.Torch, None)

    def runner(self, artifact="arrays", modules=(), **settings):
        """One that has loaded a model and made its caches."""
        made = fakes.runner_class({**WEIGHTS, **EXPERTS}, FUSED, self.caches, modules)

        def open_decoder(runner):
            self.opened.append(self.decoder(artifact))
            return self.opened[-1]

        for _ in range(2):  # a second time changes nothing
            install(made, artifact, open_decoder, lambda runner: None)
        runner = made()
        for name, value in settings.items():
            setattr(runner, name, value)
        runner.load_model()
        runner.initialize_kv_cache(None)
        return runner

    def step(self, runner, sequences, blocks, counts=None, scheduled=None, **others):
        """The logits behind the last token of each sequence, of which the last is new, or so many as
        `counts` says, and the others are cached."""
        new = [tokens[-count:] for tokens, count in zip(sequences, counts or [1] * len(sequences))]
        batch = fakes.batch([len(tokens) for tokens in sequences], [*sum(new, []), 7, 7], counts,
                            **(scheduled or {}))
        batch.tables = (fakes.table(blocks),)
        runner.execute_model(batch, **others)
        return runner.sample_tokens()

    @staticmethod
    def expected(sequences):
        bases = [2 * sum(token + 4 * (token + 1) for token in tokens) for tokens in sequences]
        return [[base + 2 * row + 100 for row in range(16)] for base in bases]

    def check_steps(self, runner):
        """Two sequences, of which one crosses the end of a page."""
        one, other = [3], [(7 * i) % 5 for i in range(70)]
        for length in range(1, 71):
            sequences = [other[:length]] if length < 60 else [other[:length], one[:1]]
            logits = self.step(runner, sequences, [[4, 2], [1]][:len(sequences)])
            self.assertEqual(np.asarray(logits).tolist(), self.expected(sequences))
        for cache in self.caches:
            values = fakes.floats(cache)
            self.assertEqual(values[4, 0, :, 1, 5].tolist(), other[:64])  # keys of a head
            self.assertEqual(values[2, 1, :6, 0, 7].tolist(), [t + 1 for t in other[64:70]])
            self.assertEqual(values[1, 1, 0, 1, 0], 4.0)
            self.assertFalse(values[[0, 3]].any())

    def test_steps_of_decoding_are_the_programs(self):
        runner = self.runner()
        self.check_steps(runner)
        self.assertEqual(runner.cudagraph_manager.runs, 0)
        self.assertEqual(self.opened[0].limits, Limits(6, 192))

    def test_steps_with_prompts_are_the_programs(self):
        runner = self.runner("several")
        self.assertEqual(self.opened[0].limits, Limits(6, 192, 6))
        one, other, third = [3], [(7 * i) % 5 for i in range(70)], [2, 4, 1, 3]
        self.check(runner, [other[:6]], [[4, 2]], [6])  # a prompt in pieces
        for length in range(11, 62, 5):
            self.check(runner, [other[:length]], [[4, 2]], [5])
        self.check(runner, [one, other[:66]], [[1], [4, 2]], [1, 5])  # beside another, into a new page
        self.check(runner, [one + [2], other[:67], third], [[1], [4, 2], [3]], [1, 1, 4])
        self.check(runner, [one + [2, 5], other[:68], third + [9]], [[1], [4, 2], [3]])
        self.assertEqual((runner.calls, runner.cudagraph_manager.runs), (0, 0))
        values = fakes.floats(self.caches[1])
        self.assertEqual(values[4, 0, :, 1, 5].tolist(), other[:64])
        self.assertEqual(values[2, 1, :4, 0, 7].tolist(), [token + 1 for token in other[64:68]])
        self.assertEqual(values[3, 0, :5, 0, 0].tolist(), third + [9])
        self.assertEqual(values[1, 1, :3, 1, 0].tolist(), [4, 3, 6])

    def check(self, runner, sequences, blocks, counts=None):
        logits = self.step(runner, sequences, blocks, counts, eager=counts is not None)
        self.assertEqual(np.asarray(logits).tolist(), self.expected(sequences))

    def test_prompts_that_the_program_does_not_take_are_vllms(self):
        prompt = [[1, 2, 3]]
        self.assertEqual(self.step(self.runner(), prompt, [[0]], [3], eager=True), "vLLM's logits of 1")
        runner = self.runner("several")
        left = lambda sequences, counts, **scheduled: self.assertEqual(
            self.step(runner, sequences, [[0]] * len(sequences), counts, scheduled, eager=True),
            f"vLLM's logits of {len(sequences)}")
        left([[1], [0] * 6], [1, 6])
        left(prompt, [2], scheduled_new_reqs=[SimpleNamespace(num_computed_tokens=1)])
        left(prompt, [2], scheduled_cached_reqs=SimpleNamespace(resumed_req_ids={"0"}))
        runner.prompt_logprobs_worker.uses_prompt_logprobs[0] = True
        left(prompt, [3])
        self.assertEqual((runner.calls, runner.cudagraph_manager.runs), (4, 0))
        taken = self.step(runner, [[3]], [[2]])  # log-probabilities of a prompt that has passed
        self.assertEqual(np.asarray(taken).tolist(), self.expected([[3]]))

    def test_a_failed_step_with_prompts_is_vllms(self):
        runner = self.runner("several")

        def fail(*_):
            raise etcrt.Error(etcrt.Status.DEVICE, "the launch failed")

        self.opened[0].step = fail
        with self.assertLogs("vllm.etc", logging.WARNING):
            self.assertEqual(self.step(runner, [[1, 2]], [[0]], [2], eager=True), "vLLM's logits of 1")
        self.assertEqual(runner.calls, 1)

    def test_a_mixture_has_the_experts_of_the_engine(self):
        runner = self.runner("mixture", [self.experts("TRITON"), object()])
        logits = np.asarray(self.step(runner, [[3]], [[2]]))
        self.assertEqual(logits.tolist(), self.of_experts([[3]]))
        self.assertEqual(runner.cudagraph_manager.runs, 0)

    def test_a_mixture_takes_prompts(self):
        runner = self.runner("several of a mixture", [self.experts("TRITON")])
        self.step(runner, [[3]], [[2]])
        sequences = [[3, 1], [2, 4, 0, 1]]
        logits = np.asarray(self.step(runner, sequences, [[2], [4]], [1, 4], eager=True))
        self.assertEqual(logits.tolist(), self.of_experts(sequences))
        self.assertEqual((runner.calls, runner.cudagraph_manager.runs), (0, 0))

    def of_experts(self, sequences):
        """What the experts of both layers add to each logit."""
        return [[value + 2 * (1 + 2 + 4) for value in row] for row in self.expected(sequences)]

    @staticmethod
    def experts(backend):
        """A module whose experts vLLM has brought into the order of its kernel."""
        method = SimpleNamespace(unquantized_backend=SimpleNamespace(value=backend))
        return SimpleNamespace(quant_method=method)

    def test_experts_in_the_order_of_another_kernel_are_left_alone(self):
        self.check_left("in the order of FlashInfer CUTLASS: --moe-backend triton", "mixture",
                        modules=[self.experts("FlashInfer CUTLASS")])

    def test_copies_of_weights_and_logits_are_counted(self):
        self.assertEqual(self.runner().model_memory_usage, 1000 + 2 * 16 * 8 * 2 + 3 * 6 * 16 * 4)

    def test_other_steps_are_vllms(self):
        runner = self.runner()
        self.assertEqual(self.step(runner, [[1]] * 7, [[0]] * 7), "vLLM's logits of 7")
        self.assertEqual(runner.cudagraph_manager.runs, 1)
        taken = self.step(runner, [[1]], [[0]])
        self.assertEqual(np.asarray(taken).tolist(), self.expected([[1]]))
        self.assertEqual(runner.model.compute_logits([1, 2]), "vLLM's logits of 2")  # once

    def test_a_failed_step_is_vllms_and_so_are_all_others(self):
        runner = self.runner()
        self.step(runner, [[1]], [[0]])

        def fail(*_):
            raise etcrt.Error(etcrt.Status.DEVICE, "the launch failed")

        self.opened[0].step = fail
        with self.assertLogs("vllm.etc", logging.WARNING) as logs:
            for _ in range(3):
                self.assertEqual(self.step(runner, [[1]], [[0]]), "vLLM's logits of 1")
        self.assertEqual([record.getMessage() for record in logs.records],
                         ["etc: steps stay with vLLM: the launch failed"])
        self.assertEqual(runner.cudagraph_manager.runs, 3)

    def test_other_weights_end_it(self):
        runner = self.runner()
        with self.assertLogs("vllm.etc", logging.WARNING) as logs:
            runner.reload_weights()
            runner.reload_weights()
        self.assertEqual(len(logs.records), 1)
        self.assertEqual(runner.reloads, 2)
        self.assertEqual(self.step(runner, [[1]], [[0]]), "vLLM's logits of 1")

    def check_left(self, reason, artifact="arrays", **settings):
        with self.assertLogs("vllm.etc", logging.WARNING) as logs:
            runner = self.runner(artifact, **settings)
        self.assertEqual(len(logs.records), 1)
        self.assertIn(reason, logs.records[0].getMessage())
        self.assertEqual(self.step(runner, [[1]], [[0]]), "vLLM's logits of 1")

    def test_engines_that_it_does_not_serve_are_left_alone(self):
        several = SimpleNamespace(tensor_parallel_size=2, pipeline_parallel_size=1,
                                  data_parallel_size=1)
        self.check_left("several GPUs", vllm_config=SimpleNamespace(parallel_config=several))
        self.check_left("LoRA", lora_config=object())
        self.check_left("speculative decoding", speculative_config=object())
        self.check_left("text and pictures", supports_mm_inputs=True)
        self.check_left("the program has 16 tokens, and the model 17", vocab_size=17)

    def test_caches_and_programs_that_do_not_fit_are_left_alone(self):
        self.check_left("--array k_cache,v_cache", "stacked")
        self.check_left("the program has a parameter `bias`", "more")
        self.check_left("-D last_logits=true", "all rows")
        self.caches = fakes.caches(3, 5, 2, 64, 8)
        self.check_left("the program has 2 layers, and the engine 3")
        self.caches = fakes.caches(2, 5, 2, 16, 8)
        self.check_left("--block-size 64")


class RegisterTest(unittest.TestCase):
    def test_without_an_artifact_nothing_is_touched(self):
        os.environ.pop("ETC_VLLM_ARTIFACT", None)
        with self.assertNoLogs("vllm.etc"):
            etc_vllm.register()

    def test_an_engine_that_it_does_not_know_gets_one_warning(self):
        os.environ["ETC_VLLM_ARTIFACT"] = "decode.etca"
        try:
            with self.assertLogs("vllm.etc", logging.WARNING) as logs:
                etc_vllm.register()  # there is no vLLM here
        finally:
            del os.environ["ETC_VLLM_ARTIFACT"]
        self.assertEqual(len(logs.records), 1)


if __name__ == "__main__":
    unittest.main()
