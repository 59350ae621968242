"""moe_layer.etir: the experts of one layer, added to the residual stream.

The variant `skewed` sends all tokens to the same experts. That of `deep` experts has more inner rows than
a slot of the ring holds columns (-D moe_intermediate_size=768), and that of `odd` ones no multiple of what
all warps take at once (-D moe_intermediate_size=192), that of `ragged` ones no multiple of a step of the
tensor cores either (-D moe_intermediate_size=160). That of `few` experts has two of eight for each token,
as Mixtral (-D num_experts=8 -D num_experts_per_tok=2).
"""

import numpy as np

import experts
from decoder import rms_norm
from tensors import Case, Expectation, from_bf16, random_bf16, to_bf16

CONFIG = {
    "num_hidden_layers": 1,
    "hidden_size": 256,
    "num_experts": 16,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 256,
    "norm_topk_prob": True,
    "rms_norm_eps": 1e-6,
}

VARIANTS = {
    "deep": {"moe_intermediate_size": 768},
    "odd": {"moe_intermediate_size": 192},
    "ragged": {"moe_intermediate_size": 160},
    "few": {"num_experts": 8, "num_experts_per_tok": 2},
}


def settle_tokens(config, h, norm, router):
    """What the tokens are when normed, after new ones were drawn into `h` for those whose choice is no
    clear one."""
    rng = np.random.default_rng(1)
    while True:
        normed = rms_norm(from_bf16(h), from_bf16(norm), config["rms_norm_eps"])
        unclear = experts.gaps(config, normed @ router.T) < experts.LEAST_GAP
        if not unclear.any():
            return normed
        h[unclear] = random_bf16(rng, (int(unclear.sum()), h.shape[1]))


def make(tokens, rng, variant=None):
    skewed = variant == "skewed"
    config = CONFIG | VARIANTS.get(variant, {})
    hidden = CONFIG["hidden_size"]
    h = random_bf16(rng, (tokens, hidden), mean=1.0 if skewed else 0.0)
    norm = random_bf16(rng, (hidden,), 0.1, 1.0)
    bits = {name: tensor[0] for name, tensor in experts.random_weights(config, rng).items()}
    if skewed:
        values = from_bf16(bits["router"])
        values[5:9] += 0.1
        bits["router"] = to_bf16(values)
    router = from_bf16(bits["router"])
    if skewed:
        normed = rms_norm(from_bf16(h), from_bf16(norm), CONFIG["rms_norm_eps"])
        chosen = {expert for x in normed for expert in experts.choose(config, router @ x)[0]}
        assert chosen == {5, 6, 7, 8}
    else:
        normed = settle_tokens(config, h, norm, router)
    layer = {name: from_bf16(tensor) for name, tensor in bits.items()}
    out = from_bf16(h) + experts.mixture(config, router, layer, normed)[0]
    return Case(
        {"tokens": tokens}, dict(h=h, norm=norm, **bits), {"out": Expectation(out, np.uint16, 5e-3)}
    )
