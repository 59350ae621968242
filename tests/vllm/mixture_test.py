"""A mixture of the library over the weights and caches of an engine, as the plugin binds them, without
torch: the logits are, bit by bit, those of the same weights from a checkpoint. On the host. $ETC compiles,
and $ETCRT is the runtime library."""

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

CONFIG = ROOT / "ir-examples" / "configs" / "qwen3moe-tiny.json"
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
    joined = {name: tensor for name, tensor in tensors.items() if "_proj" not in name or "o_proj" in name}
    for layer in range(config["num_hidden_layers"]):
        layer = f"model.layers.{layer}"
        joined[f"{layer}.self_attn.qkv_proj.weight"] = np.concatenate(
            [tensors[f"{layer}.self_attn.{name}.weight"] for name in FUSED["qkv_proj"]])
        of = lambda name: np.stack([tensors[f"{layer}.mlp.experts.{expert}.{name}.weight"]
                                    for expert in range(config["num_experts"])])
        joined[f"{layer}.mlp.experts.routed_experts.w13_weight"] = np.concatenate(
            [of("gate_proj"), of("up_proj")], axis=1)
        joined[f"{layer}.mlp.experts.routed_experts.w2_weight"] = of("down_proj")
    return {name: tensor.view(fakes.Tensor) for name, tensor in joined.items()}


class MixtureTest(unittest.TestCase):
    def compiled(self, folder, name, *options):
        path = folder / f"{name}.etca"
        subprocess.run([os.environ["ETC"], "compile", ROOT / "ir-examples" / "qwen3_moe.etir", "--config", CONFIG,
                        "--arch", "host", "--no-proofs", *options, "-o", path], check=True)
        return path

    def test_steps_are_those_of_the_checkpoint(self):
        config = json.loads(CONFIG.read_text())
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_checkpoint(folder, config)
            program = etcrt.Program(self.compiled(folder, "stacked"))
            weights = etcrt.Weights(program, etcrt.Checkpoint(folder))
            own = Watched(program, weights, config, 2, 128, 2)
            arrays = self.compiled(folder, "arrays", "--array", "k_cache,v_cache,gate_proj,up_proj,down_proj")
            decoder = Decoder(Program(arrays), config, fakes.Torch, None)
            decoder.bind_weights(as_vllm_has_them(tensors_of(folder), config), FUSED)
        caches = fakes.caches(config["num_hidden_layers"], 6, config["num_key_value_heads"], 64, config["head_dim"])
        decoder.bind_caches(caches, 8, fakes.BLOCKS)
        ids = np.random.default_rng(1).integers(0, config["vocab_size"], (6, 2))
        for position, tokens in enumerate(ids):
            own.step([Piece(i, position, [int(token)]) for i, token in enumerate(tokens)])
            logits = decoder.step(fakes.tensor(tokens, np.int32), fakes.tensor([position + 1] * 2, np.int32),
                                  fakes.table(BLOCKS), 2)
            self.assertGreater(np.abs(logits).max(), 1.0)
            np.testing.assert_array_equal(np.asarray(logits), own.steps[position][1])


if __name__ == "__main__":
    unittest.main()
