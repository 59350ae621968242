"""llama.etir with the fused weights of a Phi-3 checkpoint, whose vocabulary is padded, against the
reference in float64: on one rank, and on two that each load their part."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "tests" / "reference")]

import decoder  # noqa: E402
import etcrt  # noqa: E402
from safetensors_file import safetensors  # noqa: E402

OF_A_LAYER = {"input_norm": "input_layernorm", "o_proj": "self_attn.o_proj",
              "post_norm": "post_attention_layernorm", "down_proj": "mlp.down_proj"}
OF_THE_MODEL = {"embed": "model.embed_tokens", "final_norm": "model.norm", "lm_head": "lm_head"}


def fused_checkpoint(inputs, vocabulary):
    """The tensors of a checkpoint, of the reference's weights, which leave `inputs`."""
    tensors = {f"{name}.weight": inputs.pop(param) for param, name in OF_THE_MODEL.items()}
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        tensors[name] = tensors[name][:vocabulary]
    layers = {name: inputs.pop(param) for param, name in OF_A_LAYER.items()}
    for name, parts in (("self_attn.qkv_proj", "qkv"), ("mlp.gate_up_proj", ("gate", "up"))):
        layers[name] = np.concatenate([inputs.pop(f"{part}_proj") for part in parts], axis=1)
    for name, stacked in layers.items():
        for layer, tensor in enumerate(stacked):
            tensors[f"model.layers.{layer}.{name}.weight"] = tensor
    return tensors


def bind(run, tensors):
    """NumPy has no bf16, so its bits are bound by their address."""
    for name, tensor in tensors.items():
        if tensor.dtype == np.uint16:
            run.bind_pointer(name, tensor.ctypes.data, "bf16", tensor.shape)
        else:
            run.bind_tensor(name, tensor)


class FusedWeightsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def compiled(self, case):
        artifact = self.path / "phi3.etca"
        subprocess.run([os.environ["ETC"], "compile", ROOT / "ir-examples" / "llama.etir", "--config",
                        case.config, *case.options, "--arch", "host", "--no-proofs", "-o",
                        artifact], check=True)
        return artifact

    def checkpoint_of(self, case):
        vocabulary = np.isfinite(case.expected["logits"].values[0]).sum()  # what is not is padding
        tensors = fused_checkpoint(case.inputs, vocabulary)
        (self.path / "model.safetensors").write_bytes(safetensors(tensors))
        return etcrt.Checkpoint(self.path)

    def check(self, case, outputs):
        checks = [case.expected["logits"].check("logits", outputs["logits"])]
        for check in case.checks:
            checks += check(outputs)
        for text, passed in checks:
            self.assertTrue(passed, text)

    def test_one_rank(self):
        case = decoder.make("phi3-tiny.json", 3, np.random.default_rng(1))
        checkpoint = self.checkpoint_of(case)
        run = etcrt.Runtime(self.compiled(case))
        run.bind_weights(etcrt.Weights(run.program, checkpoint))
        outputs = {"logits": np.full((3, 1008), np.nan, np.float32), "token": np.full(3, -1, np.int32)}
        bind(run, case.inputs | outputs)
        run.set_sms(4)
        run.launch()
        self.check(case, outputs | case.inputs)

    def test_two_ranks(self):
        case = decoder.make("phi3-tiny.json", 3, np.random.default_rng(2), tp=2)
        checkpoint = self.checkpoint_of(case)
        group = etcrt.Group(self.compiled(case), 2)
        caches = {name: np.split(case.inputs.pop(name), 2, axis=2) for name in ("k_cache", "v_cache")}
        outputs = []
        for rank, member in enumerate(group.members):
            member.bind_weights(etcrt.Weights(group.program, checkpoint, rank=rank, ranks=2))
            own = {name: np.ascontiguousarray(parts[rank]) for name, parts in caches.items()}
            own |= {"logits": np.full((3, 1008), np.nan, np.float32), "token": np.full(3, -1, np.int32)}
            bind(member, case.inputs | own)
            member.set_sms(2)
            outputs.append(own)
        group.launch()
        group.synchronize()
        axes = {"logits": 1, "k_cache": 2, "v_cache": 2}
        joined = {name: np.concatenate([own[name] for own in outputs], axis=axis)
                  for name, axis in axes.items()}
        self.check(case, joined | {"token": outputs[1]["token"]})


if __name__ == "__main__":
    unittest.main()
