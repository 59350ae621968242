"""What a user would run instead: the decode step in PyTorch, each layer compiled by torch.compile, cuBLAS
projections (q, k, v as one and gate, up as one), its fused attention, the whole step in one CUDA graph."""

import torch
import torch.nn.functional as F
from torch import _dynamo

import decode_model


def rms_norm(x, weight, eps):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


def experts(x, router, gate_up, down, top):
    """The mixture of experts of tokens `x`, on grouped matrix products; probabilities over the
    chosen alone."""
    probability, chosen = torch.softmax((x @ router.t()).float(), -1).topk(top, -1)
    probability = probability / probability.sum(-1, keepdim=True)
    flat = chosen.view(-1)
    order = torch.argsort(flat, stable=True)
    numbers = torch.arange(len(router), device=x.device)
    ends = torch.cumsum((flat.unsqueeze(1) == numbers).sum(0), 0).to(torch.int32)
    gate, up = torch._grouped_mm(x[order // top], gate_up.transpose(1, 2), offs=ends).chunk(2, -1)
    found = torch._grouped_mm(F.silu(gate) * up, down.transpose(1, 2), offs=ends)
    by_token = torch.zeros_like(found)
    by_token[order] = found
    by_token = by_token.view(len(x), top, -1)
    return (by_token * probability.unsqueeze(-1).to(x.dtype)).sum(1)


class Baseline:
    """`weights` as decode_model.random_weights has them; every sequence has `context` tokens in its cache."""

    def __init__(self, config, weights, batch, context):
        self.config, self.batch = config, batch
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.dim, self.eps = config["head_dim"], config["rms_norm_eps"]
        layers, device = config["num_hidden_layers"], weights["embed"].device

        def random(*shape):
            return torch.empty(shape, dtype=torch.bfloat16, device=device).normal_()

        cache = (layers, batch, self.kv_heads, context + 1, self.dim)
        tensors = dict(weights, k_cache=random(*cache), v_cache=random(*cache))
        self.embed_scale = 1.0
        if decode_model.is_gemma(config["model_type"]):
            tensors = {k: 1.0 + t if "norm" in k else t for k, t in tensors.items()}
            self.embed_scale = config["hidden_size"] ** 0.5
        self.embed, self.lm_head = tensors.pop("embed"), tensors.pop("lm_head")
        self.final_norm = tensors.pop("final_norm")
        self.layers = [
            {name: stacked[layer] for name, stacked in tensors.items()} for layer in range(layers)
        ]
        self.cos, self.sin = random(self.dim), random(self.dim)
        self.pos = torch.tensor([context], device=device)
        self.ids = torch.randint(0, config["vocab_size"], (batch,), device=device)
        _dynamo.reset()
        self.before = torch.compile(self.before, fullgraph=True)
        self.after = torch.compile(self.after, fullgraph=True)
        self.head = torch.compile(self.head, fullgraph=True)

    def before(self, x, w):
        """Up to the attention: the query, with the new key and value in the cache."""
        qkv = F.linear(rms_norm(x, w["input_norm"], self.eps), w["qkv"], w.get("qkv_bias"))
        sizes = [self.heads, self.kv_heads, self.kv_heads]
        q, k, v = qkv.view(self.batch, -1, self.dim).split(sizes, dim=1)
        if "q_norm" in w:
            q, k = rms_norm(q, w["q_norm"], self.eps), rms_norm(k, w["k_norm"], self.eps)
        q, k = rotate(q, self.cos, self.sin), rotate(k, self.cos, self.sin)
        w["k_cache"].index_copy_(2, self.pos, k.unsqueeze(2))
        w["v_cache"].index_copy_(2, self.pos, v.unsqueeze(2))
        return q.unsqueeze(2)

    def attended(self, q, layer):
        w, window = self.layers[layer], decode_model.window_of(self.config, layer)
        k, v = (w[name][:, :, -(window or 0) :] for name in ("k_cache", "v_cache"))
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def after(self, x, attended, w):
        if "post_feedforward_norm" in w:
            return self.between_norms(x, attended, w)
        x = x + attended @ w["o"].t()
        if "router" in w:
            normed = rms_norm(x, w["post_norm"], self.eps)
            top = self.config["num_experts_per_tok"]
            return x + experts(normed, w["router"], w["gate_up"], w["down"], top)
        gate, up = (rms_norm(x, w["post_norm"], self.eps) @ w["gate_up"].t()).chunk(2, dim=-1)
        return x + (F.silu(gate) * up) @ w["down"].t()

    def between_norms(self, x, attended, w):
        """The rest of a layer of Gemma."""
        x = x + rms_norm(attended @ w["o"].t(), w["post_attention_norm"], self.eps)
        normed = rms_norm(x, w["pre_feedforward_norm"], self.eps)
        gate, up = (normed @ w["gate_up"].t()).chunk(2, dim=-1)
        found = (F.gelu(gate, approximate="tanh") * up) @ w["down"].t()
        return x + rms_norm(found, w["post_feedforward_norm"], self.eps)

    def head(self, x):
        return (rms_norm(x, self.final_norm, self.eps) @ self.lm_head.t()).argmax(-1)

    @torch.no_grad()
    def step(self):
        x = self.embed[self.ids] * self.embed_scale
        for layer, w in enumerate(self.layers):
            out = self.attended(self.before(x, w), layer)
            x = self.after(x, out.reshape(self.batch, -1), w)
        return self.head(x)
