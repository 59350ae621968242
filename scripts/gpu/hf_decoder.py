"""Hugging Face's decoder models with random weights, for the programs in ir-examples/ to be compared with.
Both see the same storage."""

import copy

import torch
import torch.nn.functional as F
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM

from decode_model import is_gemma, read_config


def build(name, device, layers=None):
    """Hugging Face's model in bf16, on `device` from the start."""
    values = read_config(name, layers)
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    # The other ways through a mixture of experts take bf16 only.
    ways = {"experts_implementation": "eager"} if "num_experts" in values else {}
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, **ways).eval()
    for parameter_name, parameter in model.named_parameters():
        parameter.requires_grad_(False)
        if "norm" in parameter_name:  # of Gemma what is added to 1
            parameter.normal_(0.0 if is_gemma(model.config.model_type) else 1.0, 0.1)
        elif parameter_name.endswith("bias"):
            parameter.normal_(0.0, 0.5)
        elif "embed" in parameter_name and is_moe(model):
            # Next to a small residual stream a rounding error would turn many choices of experts.
            parameter.normal_(0.0, 1.0)
        else:
            parameter.normal_(0.0, 0.02)
    return model


def is_moe(model):
    return hasattr(model.config, "num_experts")


def in_float32(model):
    exact = copy.deepcopy(model).float()
    if is_gemma(model.config.model_type):  # the factor of embeddings is one of bf16
        embed = exact.model.embed_tokens
        embed.embed_scale = embed.embed_scale.bfloat16().float()
    return exact


def stack(model, part, kind="weight"):
    """The weights `part` of all layers as one tensor, of which the modules' own become slices."""
    modules = [layer.get_submodule(part) for layer in model.model.layers]
    stacked = torch.stack([getattr(module, kind).data for module in modules])
    for module, weight in zip(modules, stacked):
        getattr(module, kind).data = weight
    return stacked


def parameters(model):
    """The weights by the names that the programs give them."""
    post_norms = {"post_norm": "post_attention_layernorm"}
    if is_gemma(model.config.model_type):
        places = ("post_attention", "pre_feedforward", "post_feedforward")
        post_norms = {f"{place}_norm": f"{place}_layernorm" for place in places}
    parts = {"input_norm": "input_layernorm", **post_norms, "o_proj": "self_attn.o_proj"}
    is_fused = hasattr(model.model.layers[0].self_attn, "qkv_proj")
    if not is_fused:
        parts.update({f"{x}_proj": f"self_attn.{x}_proj" for x in "qkv"})
    experts = {}
    if is_moe(model):
        parts.update(router="mlp.gate")
        gate, up = stack(model, "mlp.experts", "gate_up_proj").chunk(2, dim=2)
        experts = {"gate_proj": gate.contiguous(), "up_proj": up.contiguous()}
        experts["down_proj"] = stack(model, "mlp.experts", "down_proj")
    else:
        parts.update({f"{x}_proj": f"mlp.{x}_proj" for x in (("down",) if is_fused else ("up", "down"))})
    if hasattr(model.model.layers[0].mlp, "gate_proj"):
        parts.update(gate_proj="mlp.gate_proj")
    if hasattr(model.model.layers[0].self_attn, "q_norm"):
        parts.update(q_norm="self_attn.q_norm", k_norm="self_attn.k_norm")
    biases = {}
    if not is_fused and model.model.layers[0].self_attn.q_proj.bias is not None:
        biases = {f"{x}_bias": stack(model, f"self_attn.{x}_proj", "bias") for x in "qkv"}
    return {
        **{name: stack(model, part) for name, part in parts.items()},
        **(fused_parts(model) if is_fused else {}),
        **experts,
        **biases,
        "embed": model.model.embed_tokens.weight.data,
        "final_norm": model.model.norm.weight.data,
        "lm_head": model.lm_head.weight.data,
        "inv_freq": inverse_frequencies(model.model.rotary_emb),
    }


def fused_parts(model):
    """The projections of weights that a module has as one."""
    attention = model.model.layers[0].self_attn
    q_rows = attention.o_proj.in_features
    kv_rows = (attention.qkv_proj.out_features - q_rows) // 2
    qkv = stack(model, "self_attn.qkv_proj").split([q_rows, kv_rows, kv_rows], dim=1)
    gate_up = stack(model, "mlp.gate_up_proj").chunk(2, dim=1)
    names = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")
    return {name: part.contiguous() for name, part in zip(names, (*qkv, *gate_up))}


def inverse_frequencies(rotary):
    """Of Gemma those of the local layers, and those of the global ones."""
    if hasattr(rotary, "inv_freq"):
        return rotary.inv_freq.float().contiguous()
    names = ("sliding_attention_inv_freq", "full_attention_inv_freq")
    return torch.stack([getattr(rotary, name).float() for name in names])


class Decoder:
    """Hugging Face's model, decoding one token for each sequence of a batch at its own position.

    The module does everything but the softmax over the cache, which stands here so that sequences
    of different lengths share a batch without padding.
    """

    def __init__(self, model, k_cache, v_cache):
        self.model = model
        dtype = next(model.parameters()).dtype
        self.k_cache = k_cache.to(dtype, copy=True)
        self.v_cache = v_cache.to(dtype, copy=True)
        self.pos = self.longest = None

    def attend(self, module, query, key, value, _mask, scaling, sliding_window=None, **_unused):
        k, v = self.k_cache[module.layer_idx], self.v_cache[module.layer_idx]
        rows = torch.arange(len(self.pos), device=k.device)
        k[rows, :, self.pos] = key[:, :, 0]
        v[rows, :, self.pos] = value[:, :, 0]
        places = torch.arange(self.longest, device=k.device)
        seen = places <= self.pos[:, None]
        if sliding_window is not None:
            seen &= places > self.pos[:, None] - sliding_window
        out = F.scaled_dot_product_attention(
            query,
            k[:, :, : self.longest],
            v[:, :, : self.longest],
            attn_mask=seen[:, None, None],
            scale=scaling,
            enable_gqa=True,
        )
        return out.transpose(1, 2), None

    @torch.no_grad()
    def step(self, ids, pos):
        """The logits in float32."""
        self.pos = pos.long()
        self.longest = int(pos.max()) + 1
        AttentionInterface.register("etc_decode", self.attend)
        before = self.model.config._attn_implementation
        self.model.config._attn_implementation = "etc_decode"
        logits = self.model(
            input_ids=ids.long()[:, None], position_ids=self.pos[:, None], use_cache=False
        ).logits
        self.model.config._attn_implementation = before
        return logits[:, 0].float()


@torch.no_grad()
def plain_logits(model, prompt):
    """The module's own way: the logits of the last token of one sequence, from all its tokens."""
    return model(input_ids=prompt.long()[None], use_cache=False).logits[0, -1].float()
