"""Parts of the plugin for vLLM by themselves: which steps a program takes, caches, and weights."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "src" / "vllm"), str(Path(__file__).parent)]

import fakes  # noqa: E402
from etc_vllm.caches import caches_of  # noqa: E402
from etc_vllm.steps import Limits, joins_others, pages_for, reason_against  # noqa: E402
from etc_vllm.weights import NamedWeights, weights_of  # noqa: E402


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

    def test_a_program_of_several_tokens_takes_prompts_too(self):
        limits = Limits(4, 128, 8)
        taken = lambda *words: reason_against(fakes.batch(*words), [fakes.table([[0], [1]])], limits)
        self.assertIsNone(taken([5, 6], [1, 2]))
        self.assertIsNone(taken([9, 7], [0] * 8, [1, 7]))
        self.assertEqual(taken([9, 8], [0] * 9, [1, 8]),
                         "it has 9 new tokens, and the program takes 8")

    def test_a_sequence_that_begins_behind_others_positions_joins_them(self):
        step = lambda *computed, resumed=(): SimpleNamespace(
            scheduled_new_reqs=[SimpleNamespace(num_computed_tokens=count) for count in computed],
            scheduled_cached_reqs=SimpleNamespace(resumed_req_ids=set(resumed)))
        self.assertFalse(joins_others(step()))
        self.assertFalse(joins_others(step(0, 0)))
        self.assertTrue(joins_others(step(0, 64)))
        self.assertTrue(joins_others(step(resumed=["a"])))

    def test_page_tables_have_room_and_few_widths(self):
        widths = [pages_for(positions, 64, 100) for positions in range(1, 6401)]
        self.assertTrue(all(width * 64 >= positions for positions, width in enumerate(widths, 1)))
        self.assertEqual(sorted(set(widths)), [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 100])
        self.assertEqual(pages_for(1, 64, 3), 3)

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


def param(*extents, sources, array=0, ranges=None):
    return SimpleNamespace(extents=tuple(map(str, extents)), sources=sources, array=array,
                           source_ranges=ranges or ((),) * len(sources))


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

    def test_a_range_of_a_tensor_of_the_checkpoint(self):
        program = self.Program(
            w=param(2, 4, 1, sources=("l.{i}.x.weight", "l.{i}.qkv.weight"), ranges=((), ((5, 9, 10),))),
            all=param(2, 10, 1, sources=("l.{i}.qkv.weight",), ranges=((None,),)),
            norm=param(2, 2, sources=("l.{i}.norm.weight",), ranges=(((1, 3, 3),),), array=2))
        bound = self.bound(program)
        self.assertEqual(bound["w"].ravel().tolist(),
                         [1005, 1006, 1007, 1008, 1105, 1106, 1107, 1108])
        self.assertEqual(bound["all"].shape, (2, 10, 1))
        self.assertEqual([t.tolist() for t in bound["norm"]], [[2, 3], [5, 6]])

    def test_padded_and_tied_embeddings_are_packed_once(self):
        program = self.Program(embed=param(9, 1, sources=("embed.weight",)),
                               head=param(9, 1, sources=("head.weight", "embed.weight")))
        bound = self.bound(program)
        self.assertEqual(program.packed, ["embed"])
        self.assertIs(bound["head"], bound["embed"])
        self.assertEqual(bound["head"].shape, (9, 1))

    def test_rows_behind_a_vocabulary_are_those_of_the_engine(self):
        program = self.Program(embed=param(9, 1, sources=("embed.weight",), ranges=(((0, 7, 7),),)))
        self.assertEqual(self.bound(program)["embed"].shape, (9, 1))
        program = self.Program(embed=param(12, 1, sources=("embed.weight",), ranges=(((0, 10, 10),),)))
        with self.assertRaisesRegex(ValueError, "`embed.weight` has 10 rows, and the program pads them to 12"):
            self.bound(program)

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


if __name__ == "__main__":
    unittest.main()
