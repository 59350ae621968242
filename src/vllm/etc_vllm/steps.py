"""Which steps of an engine a program takes, and why it leaves the others."""

from typing import Any, NamedTuple, Optional


class Limits(NamedTuple):
    """What a program serves: sequences in a step, positions of a sequence, and new tokens of all
    sequences, where one may have several; else 0."""

    sequences: int
    positions: int
    rows: int = 0


LEAST_PAGES = 8


def pages_for(positions: int, page: int, most: int) -> int:
    """How wide the page table of a step is whose longest sequence has so many positions, in pages of
    `page`. A program splits attention by the width, and many splits of short sequences cost time. From one
    power of two to the next there are four widths, so that a sequence that grows seldom changes it."""
    pages = max(-(-positions // page), LEAST_PAGES)
    unit = 1 << max(0, (pages - 1).bit_length() - 3)
    return min(-(-pages // unit) * unit, most)


def longest_of(batch: Any) -> int:
    """The positions of a step's longest sequence, with its new tokens, or more."""
    return int(batch.seq_lens_cpu_upper_bound[:batch.num_reqs].max())


def is_decoding(batch: Any) -> bool:
    """Whether each sequence of a step has one new token, which was drawn in a step before."""
    return batch.num_tokens == batch.num_reqs and not batch.is_prefilling_np.any()


def joins_others(scheduled: Any) -> bool:
    """Whether a sequence begins in a step of vLLM's scheduler with positions that are in the cache. They
    may be others' that are written in this very step: vLLM's own kernels write those of a layer before
    they read any, and a program reads what was there before the step at any time."""
    return (any(new.num_computed_tokens > 0 for new in scheduled.scheduled_new_reqs)
            or bool(scheduled.scheduled_cached_reqs.resumed_req_ids))


def reason_against(batch: Any, tables: Any, limits: Limits) -> Optional[str]:
    """Why a step stays with vLLM; nothing where the program takes it. `batch` is an InputBatch of
    vLLM, and `tables` its block tables, one for each group of caches."""
    sequences = batch.num_reqs
    if len(tables) != 1:
        return f"it has {len(tables)} groups of caches"
    if batch.num_draft_tokens:
        return "it verifies drafted tokens"
    if not is_decoding(batch) and not limits.rows:
        return "it has tokens of prompts"
    if sequences > limits.sequences:
        return f"it has {sequences} sequences, and the program takes {limits.sequences}"
    if limits.rows and batch.num_tokens > limits.rows:
        return f"it has {batch.num_tokens} new tokens, and the program takes {limits.rows}"
    longest = longest_of(batch)
    if longest > limits.positions:
        return f"a sequence has {longest} positions, and the program takes {limits.positions}"
    return None
