"""A model of the library over the weights and caches of an engine, as the plugin binds them: the logits
and the caches are, bit by bit, those of a program that has both stacked. On the host, by torch.

    decode_test.py ETC
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src" / "python"), str(ROOT / "src" / "vllm")]

try:
    import torch
except ImportError:
    print("skipped: there is no torch")
    sys.exit(77)

import etcrt  # noqa: E402
from etc_vllm.decoder import Decoder  # noqa: E402
from etc_vllm.weights import NamedWeights, rows_of, weights_of  # noqa: E402
from etcrt.decoder import rotary_frequencies  # noqa: E402

CONFIG = {"model_type": "qwen3", "hidden_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
          "intermediate_size": 256, "vocab_size": 512, "max_position_embeddings": 512,
          "rms_norm_eps": 1e-6, "rope_theta": 1000000.0}
LAYERS, HIDDEN, INNER, VOCABULARY, HEADS, SIZE = 2, 128, 256, 512, 2, 64
QUERIES, KEYS = 256, HEADS * SIZE
FUSED = {"qkv_proj": ["q_proj", "k_proj", "v_proj"], "gate_up_proj": ["gate_proj", "up_proj"]}
BLOCKS, PAGE = 6, 64
TABLE = torch.tensor([[3, 5, 1, 1], [0, 1, 1, 1]], dtype=torch.int32)
STEPS = 70  # so that a sequence goes on in another page


def compiled(etc, folder, name, options):
    config = Path(folder) / "config.json"
    config.write_text(json.dumps(CONFIG))
    artifact = Path(folder) / f"{name}.etca"
    subprocess.run([etc, "compile", ROOT / "ir-examples" / "qwen3.etir", "--config", config, "--arch",
                    "host", "--no-proofs", "-o", artifact, *options], check=True)
    return etcrt.Program(artifact)


def engine_weights():
    """As vLLM has them: projections joined, the vocabulary padded, embeddings tied."""
    def random(*shape, mean=0.0):
        return (torch.randn(*shape) * 0.05 + mean).to(torch.bfloat16)

    embeddings = random(VOCABULARY + 64, HIDDEN)
    weights = {"model.embed_tokens.weight": embeddings, "lm_head.weight": embeddings,
               "model.norm.weight": random(HIDDEN, mean=1.0)}
    for layer in range(LAYERS):
        for name, weight in (
            ("input_layernorm", random(HIDDEN, mean=1.0)),
            ("post_attention_layernorm", random(HIDDEN, mean=1.0)),
            ("self_attn.qkv_proj", random(QUERIES + 2 * KEYS, HIDDEN)),
            ("self_attn.q_norm", random(SIZE, mean=1.0)),
            ("self_attn.k_norm", random(SIZE, mean=1.0)),
            ("self_attn.o_proj", random(HIDDEN, QUERIES)),
            ("mlp.gate_up_proj", random(2 * INNER, HIDDEN)),
            ("mlp.down_proj", random(HIDDEN, INNER)),
        ):
            weights[f"model.layers.{layer}.{name}.weight"] = weight
    return weights


class Stacked:
    """The program itself, with caches of its own."""

    def __init__(self, program, weights):
        self.run = etcrt.Runtime(program)
        named = NamedWeights(weights, FUSED, rows_of(program.params()))
        self.caches = [torch.zeros(LAYERS, BLOCKS, HEADS, PAGE, SIZE, dtype=torch.bfloat16)
                       for _ in range(2)]
        self.run.bind(inv_freq=torch.tensor(rotary_frequencies(CONFIG)), k_cache=self.caches[0],
                      v_cache=self.caches[1], **dict(weights_of(program, named, torch.stack)))

    def step(self, ids, lengths, table):
        logits = torch.empty(len(ids), VOCABULARY)
        self.run.bind(ids=ids, pos=lengths - 1, page_table=table.clone(), logits=logits,
                      token=torch.empty(len(ids), dtype=torch.int32))
        self.run.launch()
        return logits


def main():
    etc = sys.argv[1]
    torch.manual_seed(0)
    weights = engine_weights()
    caches = [torch.zeros(BLOCKS, 2, HEADS, PAGE, SIZE, dtype=torch.bfloat16)
              .permute(0, 1, 3, 2, 4) for _ in range(LAYERS)]
    ids = torch.randint(0, VOCABULARY, (STEPS, 2), dtype=torch.int32)
    with tempfile.TemporaryDirectory() as folder:
        decoder = Decoder(compiled(etc, folder, "arrays", ["--array", "k_cache,v_cache"]), CONFIG,
                          torch, "cpu")
        decoder.bind_weights(weights, FUSED)
        decoder.bind_caches(caches, 8, TABLE.shape[1])
        stacked = Stacked(compiled(etc, folder, "stacked", []), weights)
        for step in range(STEPS):
            sequences = 2 if step < 5 or step > 30 else 1
            lengths = torch.full((sequences,), step + 1, dtype=torch.int32)
            new = ids[step, :sequences].clone()
            taken = decoder.step(new, lengths, TABLE[:sequences], sequences, step + 1)
            expected = stacked.step(new, lengths, TABLE[:sequences])
            assert expected.isfinite().all() and expected.abs().max() > 0.1
            assert torch.equal(taken, expected), f"step {step}: {(taken - expected).abs().max()}"
        for layer, cache in enumerate(caches):
            for half, own in enumerate(stacked.caches):
                assert torch.equal(cache[:, half].transpose(1, 2), own[layer]), (layer, half)
    print(f"{STEPS} steps are the same, and the caches behind them")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
