"""The rotary frequencies of a model's config.json."""

import json
import math
from typing import Any, Dict, List, Optional


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _number(members: Dict[str, Any], name: str, default: Optional[float] = None, least: int = 1) -> float:
    """From 1 on, as most of these are: no power or quotient of them overflows."""
    if name not in members and default is None:
        raise ValueError(f"config.json has no `{name}`")
    value = members.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= 1e30:
        raise ValueError(f"config.json: `{name}` is {_json(value)}, and must be a number from {least} on")
    return value


def _whole(members: Dict[str, Any], name: str) -> int:
    value = _number(members, name)
    if not isinstance(value, int):
        raise ValueError(f"config.json: `{name}` is {_json(value)}, and must be a whole number")
    return value


def _members(config: Dict[str, Any], name: str) -> Dict[str, Any]:
    """Of a nested object, none where it is null or not there."""
    value = config.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"config.json: `{name}` is {_json(value)}, and must be an object")
    return value


def _llama3_scaled(frequencies: List[float], scaling: Dict[str, Any]) -> List[float]:
    """Llama 3.1's scaling: long waves are slowed down, short ones stay, and between them it is a mixture."""
    factor = _number(scaling, "factor")
    low, high = (_number(scaling, name, least=0) for name in ("low_freq_factor", "high_freq_factor"))
    if low >= high:
        raise ValueError(f"config.json: `low_freq_factor` is {low}, and must be less than "
                         f"`high_freq_factor`, which is {high}")
    context = _number(scaling, "original_max_position_embeddings")
    scaled = []
    for frequency in frequencies:
        turns = context * frequency / (2 * math.pi)
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        scaled.append(frequency * (share + (1 - share) / factor))
    return scaled


def _frequencies(dim: int, rotated: int, theta: float, scaling: Dict[str, Any]) -> List[float]:
    """Of the elements behind those that are rotated: 0, so that they stay."""
    scaled = _scaled([theta ** (-2 * i / rotated) for i in range(rotated // 2)], scaling)
    return scaled + [0.0] * ((dim - rotated) // 2)


def _scaled(frequencies: List[float], scaling: Dict[str, Any]) -> List[float]:
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return frequencies
    if kind == "linear":
        factor = _number(scaling, "factor")
        return [frequency / factor for frequency in frequencies]
    if kind == "llama3":
        return _llama3_scaled(frequencies, scaling)
    raise ValueError(f"config.json: rope scaling of the type `{kind}` is not known")


def _head_dim(config: Dict[str, Any]) -> int:
    if config.get("head_dim") is not None:
        return _whole(config, "head_dim")
    return _whole(config, "hidden_size") // _whole(config, "num_attention_heads")


def _rotated(dim: int, members: Dict[str, Any]) -> int:
    """How many elements of a head are rotated."""
    name = "partial_rotary_factor"
    if members.get(name) is None:
        return dim
    rotated = dim * _number(members, name, least=0)
    if not 2 <= rotated <= dim or int(rotated) % 2 != 0:
        raise ValueError(f"config.json: `{name}` is {_json(members[name])}, and an even number of the "
                         f"{dim} elements of a head must be rotated")
    return int(rotated)


# What GPT-NeoX calls them.
_OTHER_NAMES = {"rotary_pct": "partial_rotary_factor", "rotary_emb_base": "rope_theta"}


def rotary_frequencies(config: Dict[str, Any]) -> List[float]:
    """The values of %inv_freq: of a model with two kinds of layers first the local, then the global."""
    config = {**{name: config[other] for other, name in _OTHER_NAMES.items() if other in config}, **config}
    dim = _head_dim(config)
    parameters = _members(config, "rope_parameters")
    if "full_attention" in parameters:  # by the kind of a layer
        kinds = [_members(parameters, name) for name in ("sliding_attention", "full_attention")]
        return [frequency for kind in kinds for frequency in _frequencies(
            dim, _rotated(dim, kind), _number(kind, "rope_theta"), kind)]
    members = {**parameters, **config}
    theta, rotated = _number(members, "rope_theta", 10000.0), _rotated(dim, members)
    scaling = _members(config, "rope_scaling") or parameters
    if "rope_local_base_freq" in config:
        return (_frequencies(dim, rotated, _number(config, "rope_local_base_freq"), {})
                + _frequencies(dim, rotated, theta, scaling))
    return _frequencies(dim, rotated, theta, scaling)
