"""Which steps of an engine a program takes, and why it leaves the others."""

from typing import Any, NamedTuple, Optional


class Limits(NamedTuple):
    """What a program serves: sequences in a step, and positions of a sequence."""

    sequences: int
    positions: int


def reason_against(batch: Any, tables: Any, limits: Limits) -> Optional[str]:
    """Why a step stays with vLLM; nothing where the program takes it. `batch` is an InputBatch of
    vLLM, and `tables` its block tables, one for each group of caches."""
    sequences = batch.num_reqs
    if len(tables) != 1:
        return f"it has {len(tables)} groups of caches"
    if batch.num_draft_tokens:
        return "it verifies drafted tokens"
    if batch.num_tokens != sequences or batch.is_prefilling_np.any():
        return "it has tokens of prompts"
    if sequences > limits.sequences:
        return f"it has {sequences} sequences, and the program takes {limits.sequences}"
    longest = int(batch.seq_lens_cpu_upper_bound[:sequences].max())
    if longest > limits.positions:
        return f"a sequence has {longest} positions, and the program takes {limits.positions}"
    return None
