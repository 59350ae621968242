"""What the plugin sees of torch and of vLLM's model runner, over numpy."""

from types import SimpleNamespace

import numpy as np

SEQUENCES, BLOCKS = 8, 4  # of a block table


class Tensor(np.ndarray):
    """An array with what the plugin asks of a tensor. Halves of floats are brain floats."""

    @property
    def dtype(self):
        kind = super().dtype
        return "torch.bfloat16" if kind == np.uint16 else f"torch.{kind}"

    def data_ptr(self):
        return self.ctypes.data

    def stride(self):
        return tuple(step // self.itemsize for step in self.strides)

    def numel(self):
        return self.size

    def element_size(self):
        return self.itemsize


def tensor(values, dtype=np.float32):
    return np.array(values, dtype=dtype).view(Tensor)


def brain_floats(values):
    """Of values that brain floats hold."""
    return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16).view(Tensor)


def floats(tensor):
    return (np.asarray(tensor).astype(np.uint32) << 16).view(np.float32)


class Torch:
    """The module, as far as the plugin uses it."""

    float32, int32 = np.float32, np.int32

    @staticmethod
    def empty(shape, dtype, device):
        return np.full(shape, 77, dtype).view(Tensor)

    @staticmethod
    def tensor(values, dtype, device):
        return tensor(values, dtype)

    @staticmethod
    def stack(tensors):
        return np.stack(tensors).view(Tensor)

    @staticmethod
    def sub(a, b, out):
        np.subtract(np.asarray(a), b, out=np.asarray(out))

    @staticmethod
    def mul(a, b, out):
        np.multiply(np.asarray(a), b, out=np.asarray(out))


def caches(layers, blocks, heads, positions, size):
    """Those of vLLM with VLLM_KV_CACHE_LAYOUT=HND: [blocks, 2, positions, heads, size], in memory
    with the heads before the positions."""
    return [np.zeros((blocks, 2, heads, positions, size), np.uint16)
            .transpose(0, 1, 3, 2, 4).view(Tensor) for _ in range(layers)]


def batch(lengths, ids, counts=None, **others):
    """A step in vLLM's words: `lengths` with the new tokens, of which there are `counts`, or one of each
    sequence. It is its own schedule, which goes on with no other step."""
    count = len(lengths)
    counts = np.array([1] * count if counts is None else counts)
    starts = np.concatenate([[0], counts.cumsum(), [counts.sum()]])  # and what vLLM pads it with
    fields = dict(num_reqs=count, num_tokens=int(counts.sum()), num_draft_tokens=0,
                  is_prefilling_np=counts > 1, query_start_loc=tensor(starts, np.int32),
                  logits_indices=starts[1:count + 1] - 1, idx_mapping_np=np.arange(count),
                  scheduled_new_reqs=[],
                  seq_lens_cpu_upper_bound=np.array(lengths), seq_lens=tensor(lengths, np.int32),
                  input_ids=tensor(ids, np.int32), req_ids=[str(i) for i in range(count)],
                  total_num_scheduled_tokens=0,
                  scheduled_cached_reqs=SimpleNamespace(resumed_req_ids=set()))
    return SimpleNamespace(**{**fields, **others})


def table(rows):
    """A block table whose rows are as long as vLLM's: what is behind them is left from before."""
    blocks = np.full((len(rows), BLOCKS), 1, np.int32)
    for row, used in zip(blocks, rows):
        row[:len(used)] = used
    return blocks.view(Tensor)


class Graphs:
    """The CUDA graphs of a runner."""

    def __init__(self):
        self.hidden_states = np.zeros((SEQUENCES, 2), np.float32)
        self.runs = 0

    def run_fullgraph(self, desc):
        self.runs += 1
        return self.hidden_states[:desc.num_tokens]


def runner_class(weights, fused, tensors, modules=()):
    """A class of model runners that go through vLLM's calls in its order."""

    class Runner:
        def __init__(self):
            one = SimpleNamespace(tensor_parallel_size=1, pipeline_parallel_size=1,
                                  data_parallel_size=1)
            self.vllm_config = SimpleNamespace(parallel_config=one)
            self.lora_config = self.speculative_config = None
            self.supports_mm_inputs = self.use_aux_hidden_state_outputs = False
            self.vocab_size = 16
            self.reloads = self.calls = 0
            self.prompt_logprobs_worker = SimpleNamespace(
                uses_prompt_logprobs=np.zeros(SEQUENCES, bool))
            self.execute_model_state = None

        def load_model(self):
            self.model = SimpleNamespace(
                named_parameters=lambda remove_duplicate: weights.items(),
                packed_modules_mapping=fused, modules=lambda: modules,
                forward=self.forward,
                compute_logits=lambda hidden_states: f"vLLM's logits of {len(hidden_states)}")
            self.model_memory_usage = 1000

        def forward(self, desc):
            self.calls += 1
            return self.cudagraph_manager.hidden_states[:desc.num_tokens]

        def initialize_kv_cache(self, config):
            self.kv_caches = tensors
            self.block_tables = SimpleNamespace(
                input_block_tables=[np.zeros((SEQUENCES, BLOCKS), np.int32)])
            self.cudagraph_manager = Graphs()

        def prepare_attn(self, input_batch):
            return input_batch.tables, "slots"

        def execute_model(self, input_batch, eager=False):
            self.prepare_attn(input_batch)
            self.execute_model_state = SimpleNamespace(input_batch=input_batch)
            desc = SimpleNamespace(num_tokens=input_batch.num_tokens)
            run = self.model.forward if eager else self.cudagraph_manager.run_fullgraph
            self.hidden_states = run(desc)

        def sample_tokens(self, grammar_output=None):
            state, self.execute_model_state = self.execute_model_state, None
            return self.model.compute_logits(self.hidden_states[state.input_batch.logits_indices])

        def reload_weights(self):
            self.reloads += 1

    return Runner
