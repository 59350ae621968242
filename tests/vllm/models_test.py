"""Models of the library over the weights and caches of an engine, as the plugin binds them, without torch:
the logits are, bit by bit, those of the same weights from a checkpoint, in steps of single tokens and of
pieces of prompts. On the host. $ETC compiles, and $ETCRT is the runtime library."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "src" / "vllm"), str(ROOT / "tests" / "sampling"),
                str(Path(__file__).parent)]

import etcrt  # noqa: E402
import fakes  # noqa: E402
from etc_vllm.decoder import Decoder  # noqa: E402
from etcrt._library import call, encoded  # noqa: E402
from etcrt.decoder import Piece  # noqa: E402
from steps_test import Watched, write_checkpoint  # noqa: E402

CONFIGS = ROOT / "ir-examples" / "configs"
MIXTURE_ARRAYS = "k_cache,v_cache,gate_proj,up_proj,down_proj"
SEVERAL = ["-D", "several_tokens=true", "-D", "last_logits=true"]
FUSED = {"qkv_proj": ["q_proj", "k_proj", "v_proj"], "gate_up_proj": ["gate_proj", "up_proj"]}
BLOCKS = [[3, 5], [0, 1]]  # of each sequence


class Program(etcrt.Program):
    """One that packs arrays as `pack` does tensors of torch."""

    def pack(self, name, tensor, graph=None):
        tensor = np.ascontiguousarray(tensor)
        packed = np.empty_like(tensor)
        shape = (ctypes.c_int64 * tensor.ndim)(*tensor.shape)
        call("etc_pack", self.handle, encoded(graph), encoded(name), shape, tensor.ndim,
             ctypes.c_void_p(tensor.ctypes.data), ctypes.c_void_p(packed.ctypes.data))
        tile = self.tiles()[name]
        *leading, rows, columns = tensor.shape
        return packed.reshape(*leading, rows // tile.rows, columns // tile.columns, tile.rows,
                              tile.columns).view(fakes.Tensor)


def tensors_of(folder):
    """Those of a checkpoint, by name."""
    data = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {name: np.frombuffer(data[8 + length:][slice(*tensor["data_offsets"])], np.uint16)
            .reshape(tensor["shape"]).view(fakes.Tensor) for name, tensor in header.items()}


def as_vllm_has_them(tensors, config):
    """Projections joined, those of a layer's experts in two tensors."""
    apart = ("o_proj",) if "num_experts" in config else ("o_proj", "mlp.down_proj")
    joined = {name: tensor for name, tensor in tensors.items()
              if "_proj" not in name or any(part in name for part in apart)}
    for layer in range(config["num_hidden_layers"]):
        layer = f"model.layers.{layer}"
        joined[f"{layer}.self_attn.qkv_proj.weight"] = np.concatenate(
            [tensors[f"{layer}.self_attn.{name}.weight"] for name in FUSED["qkv_proj"]])
        if "num_experts" not in config:
            joined[f"{layer}.mlp.gate_up_proj.weight"] = np.concatenate(
                [tensors[f"{layer}.mlp.{name}.weight"] for name in FUSED["gate_up_proj"]])
            continue
        of = lambda name: np.stack([tensors[f"{layer}.mlp.experts.{expert}.{name}.weight"]
                                    for expert in range(config["num_experts"])])
        joined[f"{layer}.mlp.experts.routed_experts.w13_weight"] = np.concatenate(
            [of("gate_proj"), of("up_proj")], axis=1)
        joined[f"{layer}.mlp.experts.routed_experts.w2_weight"] = of("down_proj")
    return {name: tensor.view(fakes.Tensor) for name, tensor in joined.items()}


class Model:
    """A model of random weights in two programs: `own` has them from a checkpoint, and `decoder` is the
    plugin's, over weights and caches as vLLM has them."""

    def __init__(self, page, config_file, arrays, *options):
        config = json.loads((CONFIGS / config_file).read_text())
        self.vocabulary = config["vocab_size"]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_checkpoint(folder, config)

            def compiled(name, *more):
                path = folder / f"{name}.etca"
                subprocess.run([os.environ["ETC"], "compile", ROOT / "ir-examples" / page, "--config",
                                CONFIGS / config_file, "--arch", "host", "--no-proofs", *options, *more, "-o",
                                path], check=True)
                return path

            program = etcrt.Program(compiled("stacked"))
            weights = etcrt.Weights(program, etcrt.Checkpoint(folder))
            self.own = Watched(program, weights, config, 2, 128, 2)
            self.decoder = Decoder(Program(compiled("arrays", "--array", arrays)), config, fakes.Torch, None)
            self.decoder.bind_weights(as_vllm_has_them(tensors_of(folder), config), FUSED)
        caches = fakes.caches(config["num_hidden_layers"], 6, config["num_key_value_heads"], 64, config["head_dim"])
        self.decoder.bind_caches(caches, 8, 2)

    def step(self, pieces):
        """The logits of a step both ways."""
        self.own.step(pieces)
        counts = [len(piece.tokens) for piece in pieces]
        lengths = [piece.position + count for piece, count in zip(pieces, counts)]
        ids = fakes.tensor(sum((list(piece.tokens) for piece in pieces), []), np.int32)
        logits = self.decoder.step(ids, fakes.tensor(lengths, np.int32),
                                   fakes.table([BLOCKS[piece.sequence] for piece in pieces]), len(pieces),
                                   max(lengths), sum(counts), fakes.tensor(np.cumsum([0, *counts]), np.int32))
        return np.asarray(logits), self.own.steps[-1][1]


class ModelsTest(unittest.TestCase):
    def check_step(self, model, pieces):
        logits, expected = model.step(pieces)
        self.assertGreater(np.abs(logits).max(), 1.0)
        np.testing.assert_array_equal(logits, expected)

    def check_prompts(self, model):
        """Prompts in pieces, one of which goes on in another page, beside a sequence of single tokens."""
        tokens = np.random.default_rng(2).integers(0, model.vocabulary, (2, 128)).tolist()
        piece = lambda sequence, begin, count: Piece(sequence, begin, tokens[sequence][begin:begin + count])
        for pieces in ([piece(0, 0, 9)], [piece(0, 9, 1), piece(1, 0, 30)], [piece(0, 10, 1), piece(1, 30, 32)],
                       [piece(0, 11, 1), piece(1, 62, 7)], [piece(0, 12, 1), piece(1, 69, 1)],
                       [piece(1, 70, 1)], [piece(1, 71, 2), piece(0, 13, 5)]):
            self.check_step(model, pieces)

    def test_steps_of_a_mixture(self):
        model = Model("qwen3_moe.etir", "qwen3moe-tiny.json", MIXTURE_ARRAYS)
        ids = np.random.default_rng(1).integers(0, model.vocabulary, (6, 2))
        for position, tokens in enumerate(ids):
            self.check_step(model, [Piece(i, position, [int(token)]) for i, token in enumerate(tokens)])

    def test_prompts_of_a_mixture(self):
        self.check_prompts(Model("qwen3_moe.etir", "qwen3moe-tiny.json", MIXTURE_ARRAYS, *SEVERAL))

    def test_prompts_of_a_dense_model(self):
        self.check_prompts(Model("qwen3.etir", "qwen3-tiny.json", "k_cache,v_cache", *SEVERAL))


if __name__ == "__main__":
    unittest.main()
