"""KV caches of vLLM as the arrays of tensors of a program.

With VLLM_KV_CACHE_LAYOUT=HND, the cache of a layer is `[blocks, 2, heads, 64, head size]` in memory:
the keys and the values of a block stand side by side. A program's pages are pages of keys alone and
of values alone. So both are bound to the same memory, as `2 * blocks - 1` pages each: keys from the
first element on, values from the first value on. A sequence's page is then twice its block, for
both, and no page that is used of the one lies in a page that is used of the other."""

from typing import Any, List, NamedTuple, Sequence, Tuple


class Caches(NamedTuple):
    """Where the pages of each layer are."""

    keys: List[int]  # addresses
    values: List[int]
    shape: Tuple[int, ...]  # [pages, heads, positions, head size]


def caches_of(tensors: Sequence[Any], page: Sequence[int]) -> Caches:
    """`page` is what a program's pages have: heads, positions, head size. A ValueError where the
    tensors of vLLM are others."""
    heads, positions, size = page
    elements = heads * positions * size
    keys, values = [], []
    for layer, tensor in enumerate(tensors):
        blocks = tensor.shape[0]
        expected = (blocks, 2, positions, heads, size)
        if tuple(tensor.shape) != expected:
            raise ValueError(f"the cache of layer {layer} has the shape {tuple(tensor.shape)}, but "
                             f"must have {expected}: --block-size {positions}")
        if tuple(tensor.stride()) != (2 * elements, elements, size, positions * size, 1):
            raise ValueError(f"the cache of layer {layer} has its heads inside of its positions: "
                             "VLLM_KV_CACHE_LAYOUT=HND")
        if str(tensor.dtype) != "torch.bfloat16":
            raise ValueError(f"the cache of layer {layer} is of {tensor.dtype}")
        keys.append(tensor.data_ptr())
        values.append(tensor.data_ptr() + elements * tensor.element_size())
        if blocks != tensors[0].shape[0]:
            raise ValueError(f"layer {layer} has {blocks} blocks, and layer 0 "
                             f"{tensors[0].shape[0]}")
    if not keys:
        raise ValueError("the engine has no caches")
    return Caches(keys, values, (2 * tensors[0].shape[0] - 1, heads, positions, size))
