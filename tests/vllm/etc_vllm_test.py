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
from etc_vllm.caches import caches_of  # noqa: E402
from etc_vllm.decoder import Decoder  # noqa: E402
from etc_vllm.hooks import install  # noqa: E402
from etc_vllm.steps import Limits, reason_against  # noqa: E402
from etc_vllm.weights import NamedWeights, weights_of  # noqa: E402

# With what the library's decode steps take and give: the logits are sums over what is cached.
DECODE = """etir 1;
const layers = 2;
const more = false;
const mixture = false;
dim batch in 1..6;
dim max_pages in 1..3;
dim num_pages in 1..64;
device @zero(%logits: out f32[batch, 16]) tasks (b: batch) { for (j: 16) %logits[b, j] = 0.0; }
device @layer(%ids: i32[batch], %pos: i32[batch] in 0 .. max_pages * 64,
              %page_table: i32[batch, max_pages] in 0..num_pages distinct, %w: bf16[16, 8],
              %up: bf16[3, 16, 8] if mixture,
              %k_cache: inout bf16[num_pages, 2, 64, 8], %v_cache: inout bf16[num_pages, 2, 64, 8],
              %logits: inout f32[batch, 16]) tasks (b: batch) {
  let position = %pos[b];
  for (h: 2, d: 8) {
    %k_cache[%page_table[b, position / 64], h, position % 64, d] = f32(%ids[b]);
    %v_cache[%page_table[b, position / 64], h, position % 64, d] = f32(%ids[b] + 1);
  }
  for (j: 16) {
    %logits[b, j] = %logits[b, j] + %w[j, 0] +
        sum(t: position + 1) (%k_cache[%page_table[b, t / 64], j / 8, t % 64, j % 8] +
                              4.0 * %v_cache[%page_table[b, t / 64], j / 8, t % 64, j % 8]);
    if (mixture) %logits[b, j] = %logits[b, j] + sum(e: 3) %up[e, j, 0];
  }
}
device @first(%logits: f32[batch, 16], %inv_freq: f32[4], %token: out i32[batch]) tasks (b: batch) {
  %token[b] = argmax(v: 16) %logits[b, v] * %inv_freq[0];
}
graph @decode(%ids: i32[batch] in 0..16, %pos: i32[batch] in 0 .. max_pages * 64,
              %page_table: i32[batch, max_pages] in 0..num_pages distinct, %inv_freq: f32[4],
              %row_start: i32[batch + 1] if more,
              %w: bf16[layers, 16, 8] from "model.layers.{l}.q_proj.weight",
              %up: bf16[layers, 3, 16, 8] if mixture
                  from "model.layers.{l}.mlp.experts.{e}.up_proj.weight",
              %k_cache: inout bf16[layers, num_pages, 2, 64, 8],
              %v_cache: inout bf16[layers, num_pages, 2, 64, 8], %logits: out f32[batch, 16],
              %token: out i32[batch]) {
  call @zero(%logits);
  repeat l in 0..layers {
    call @layer(%ids, %pos, %page_table, %w[l], %up[l], %k_cache[l], %v_cache[l], %logits);
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
FUSED = {"qkv": ["q_proj", "k_proj"]}


def compiled(folder, name, options):
    """A host artifact of DECODE."""
    text, artifact = Path(folder) / "decode.etir", os.path.join(folder, f"{name}.etca")
    text.write_text(DECODE)
    subprocess.run([os.environ["ETC"], "compile", text, "--arch", "host", "-o", artifact, *options],
                   check=True)
    return artifact


class StepsTest(unittest.TestCase):
    limits = Limits(4, 128)

    def reason(self, tables=1, **others):
        step = fakes.batch([5, 6], [1, 2], **others)
        return reason_against(step, [fakes.table([[0], [1]])] * tables, self.limits)

    def test_a_step_of_decoding_is_taken(self):
        self.assertIsNone(self.reason())

    def test_others_are_left(self):
        self.assertIn("groups of caches", self.reason(tables=2))
        self.assertIn("drafted", self.reason(num_draft_tokens=1))
        self.assertIn("prompts", self.reason(num_tokens=9))
        self.assertIn("prompts", self.reason(is_prefilling_np=np.array([False, True])))
        self.assertEqual(self.reason(seq_lens_cpu_upper_bound=np.array([5, 129])),
                         "a sequence has 129 positions, and the program takes 128")
        step = fakes.batch([1] * 5, [0] * 5)
        self.assertEqual(reason_against(step, [fakes.table([[0]] * 5)], self.limits),
                         "it has 5 sequences, and the program takes 4")

    def test_lengths_behind_the_batch_do_not_count(self):
        self.assertIsNone(self.reason(seq_lens_cpu_upper_bound=np.array([5, 6, 500])))


class CachesTest(unittest.TestCase):
    def test_keys_and_values_are_pages_of_one_tensor(self):
        tensors = fakes.caches(2, 3, 2, 64, 8)
        caches = caches_of(tensors, [2, 64, 8])
        self.assertEqual(caches.shape, (5, 2, 64, 8))
        self.assertEqual(caches.keys, [t.data_ptr() for t in tensors])
        self.assertEqual(caches.values, [t.data_ptr() + 2 * 64 * 8 * 2 for t in tensors])

    def test_other_layouts_are_errors(self):
        tensors = fakes.caches(1, 3, 2, 64, 8)
        with self.assertRaisesRegex(ValueError, "--block-size 16"):
            caches_of(tensors, [2, 16, 8])
        inside = np.zeros((3, 2, 64, 2, 8), np.uint16).view(fakes.Tensor)
        with self.assertRaisesRegex(ValueError, "VLLM_KV_CACHE_LAYOUT=HND"):
            caches_of([inside], [2, 64, 8])
        with self.assertRaisesRegex(ValueError, "is of torch.uint8"):
            caches_of([tensors[0].astype(np.uint8)], [2, 64, 8])
        with self.assertRaisesRegex(ValueError, "layer 1 has 4 blocks, and layer 0 3"):
            caches_of(tensors + fakes.caches(1, 4, 2, 64, 8), [2, 64, 8])
        with self.assertRaisesRegex(ValueError, "no caches"):
            caches_of([], [2, 64, 8])


def param(*extents, sources, array=0):
    return SimpleNamespace(extents=tuple(map(str, extents)), sources=sources, array=array)


class WeightsTest(unittest.TestCase):
    class Program:
        """`w` and `o` are in tiles, which the fake marks."""

        def __init__(self, **params):
            self.list, self.packed = params, []

        def params(self):
            return self.list

        def tiles(self):
            return {name: "tile" for name in self.list if name in ("w", "o", "embed", "head")}

        def pack(self, name, tensor):
            self.packed.append(name)
            return tensor + 1000

    def setUp(self):
        rows = np.arange(10.0, dtype=np.float32).reshape(10, 1)
        self.tensors = {f"l.{i}.qkv.weight": fakes.tensor(rows + 100 * i) for i in range(2)}
        self.tensors["embed.weight"] = fakes.tensor(rows)
        self.tensors["l.0.norm.weight"] = fakes.tensor([1, 2, 3])
        self.tensors["l.1.norm.weight"] = fakes.tensor([4, 5, 6])

    def bound(self, program):
        named = NamedWeights(self.tensors, {"qkv": ["q", "k"]}, {"q": 6, "k": 4})
        return dict(weights_of(program, named, fakes.Torch.stack))

    def test_parts_of_joined_weights_are_packed(self):
        program = self.Program(w=param(2, 4, 1, sources=("l.{i}.k.weight",)))
        self.assertEqual(self.bound(program)["w"].ravel().tolist(),
                         [1006, 1007, 1008, 1009, 1106, 1107, 1108, 1109])

    def test_an_array_has_a_tensor_for_each_layer(self):
        program = self.Program(w=param(2, 6, 1, sources=("l.{i}.q.weight",), array=2),
                               norm=param(2, 3, sources=("l.{i}.norm.weight",), array=2))
        bound = self.bound(program)
        self.assertEqual([t.ravel()[0] for t in bound["w"]], [1000, 1100])
        self.assertEqual([t.data_ptr() for t in bound["norm"]],
                         [self.tensors[f"l.{i}.norm.weight"].data_ptr() for i in range(2)])

    def test_padded_and_tied_embeddings_are_packed_once(self):
        program = self.Program(embed=param(9, 1, sources=("embed.weight",)),
                               head=param(9, 1, sources=("head.weight", "embed.weight")))
        bound = self.bound(program)
        self.assertEqual(program.packed, ["embed"])
        self.assertIs(bound["head"], bound["embed"])
        self.assertEqual(bound["head"].shape, (9, 1))

    def test_experts_are_parts_of_one_tensor_for_each_layer(self):
        values = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)  # 3 experts, 2 + 2 rows
        for layer in range(2):
            self.tensors[f"l.{layer}.experts.routed_experts.w13_weight"] = fakes.tensor(
                values[layer].reshape(3, 4, 1))
            self.tensors[f"l.{layer}.experts.routed_experts.w2_weight"] = fakes.tensor(
                values[layer].reshape(3, 1, 4))
        source = "l.{i}.experts.{e}.%s.weight"
        program = self.Program(gate=param(2, 3, 2, 1, sources=(source % "gate_proj",)),
                               up=param(2, 3, 2, 1, sources=(source % "up_proj",), array=2),
                               w=param(2, 3, 1, 4, sources=(source % "down_proj",)))
        bound = self.bound(program)
        self.assertEqual(bound["gate"].tolist(), values[:, :, :2, None].tolist())
        self.assertEqual([up.tolist() for up in bound["up"]], values[:, :, 2:, None].tolist())
        self.assertEqual(bound["w"].tolist(), (values + 1000)[:, :, None, :].tolist())

    def test_experts_that_the_engine_lacks_are_named(self):
        with self.assertRaisesRegex(ValueError, "no weight `l.0.experts.{e}.up_proj.weight`"):
            self.bound(self.Program(up=param(2, 3, 2, 1, sources=("l.{i}.experts.{e}.up_proj.weight",))))
        with self.assertRaisesRegex(ValueError, "`up` is from more tensors than one for each layer and"):
            self.bound(self.Program(up=param(2, 3, 2, 1, sources=("l.{i}.{e}.{f}.weight",))))

    def test_a_weight_that_the_engine_lacks_is_named(self):
        with self.assertRaisesRegex(ValueError, "no weight `x.weight` or `y.weight`"):
            self.bound(self.Program(x=param(3, sources=("x.weight", "y.weight"))))


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        arrays = ["--array", "k_cache,v_cache"]
        cls.artifacts = {name: compiled(cls.folder.name, name, options)
                         for name, options in (("stacked", []), ("arrays", arrays),
                                               ("more", [*arrays, "-D", "more=true"]),
                                               ("mixture", [*arrays, "-D", "mixture=true"]))}

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

    def step(self, runner, sequences, blocks, **others):
        """The logits behind the last token of each sequence, whose others are cached."""
        batch = fakes.batch([len(tokens) for tokens in sequences],
                            [tokens[-1] for tokens in sequences])
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

    def test_a_mixture_has_the_experts_of_the_engine(self):
        runner = self.runner("mixture", [self.experts("TRITON"), object()])
        logits = np.asarray(self.step(runner, [[3]], [[2]]))
        self.assertEqual(logits.tolist(), [[value + 2 * (1 + 2 + 4) for value in row]
                                           for row in self.expected([[3]])])
        self.assertEqual(runner.cudagraph_manager.runs, 0)

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
        self.assertEqual(self.step(runner, [[1]], [[0]], eager=True), "vLLM's logits of 1")
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
                         ["etc: decode steps stay with vLLM: the launch failed"])
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
        self.check_left("the program has a parameter `row_start`", "more")
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
