"""Choices of experts: those that a program made against those of the same routers in float32.

A rounding error may turn a choice, and from there on two runs have little in common. So a program's
logits are compared with runs to which its own choices are given. Where a choice is not the one that
float32 makes, the margin between the logits must be one that bf16's errors explain."""

import functools

import torch
import torch.nn.functional as F

ALLOWED_RATIO = 1.2  # of the largest error of PyTorch's own logits


class Routers:
    """Those of Hugging Face's model: what they find in a step, and choices in the place of theirs."""

    def __init__(self, model):
        self.logits, self.given = [], None
        for number, layer in enumerate(model.model.layers):
            gate = layer.mlp.gate
            gate.forward = functools.partial(self.route, gate, number)

    def route(self, gate, number, hidden):
        logits = F.linear(hidden.reshape(-1, gate.hidden_dim), gate.weight)
        self.logits.append(logits.float())
        shares = torch.softmax(logits, -1, dtype=torch.float)
        chosen = shares.topk(gate.top_k).indices if self.given is None else self.given[number]
        weights = shares.gather(1, chosen)
        if gate.norm_topk_prob:
            weights /= weights.sum(-1, keepdim=True)
        return logits, weights.to(logits.dtype), chosen

    def run(self, decoder, fed, pos, choices):
        """The logits of the vocabulary of each step, and those of the experts [layers, tokens, experts],
        with `choices` [layers, tokens, chosen] of each step."""
        outputs, found = [], []
        for step, (ids, chosen) in enumerate(zip(fed, choices)):
            self.given, self.logits = chosen, []
            outputs.append(decoder.step(ids, pos + step))
            found.append(torch.stack(self.logits))
        self.given = None
        return outputs, found


def choices_of(weights, count):
    """From weights [layers, tokens, experts], 0 where one is not chosen."""
    return weights.topk(count, -1).indices


def margins(exact, chosen):
    """By how much, in logits, a choice is not the best one: [layers, tokens], 0 where it is."""
    best = exact.topk(chosen.shape[-1], -1).values[..., -1]
    return (best - exact.gather(-1, chosen).amin(-1)).clamp(min=0)


def compare(choices, exact, rounded):
    """Of all steps: how many choices are not those of float32, and whether each of these has a margin
    within the error of two of PyTorch's bf16 logits in its layer."""
    error = torch.stack([(a - b).abs().amax((1, 2)) for a, b in zip(exact, rounded)]).amax(0)
    found = torch.stack([margins(a, chosen) for a, chosen in zip(exact, choices)])
    explained = found <= 2 * ALLOWED_RATIO * error[:, None]
    return int((found > 0).sum()), found.numel(), bool(explained.all())
