"""A model runner of vLLM as far as steps that repeat see it, over numpy: sequences with slots, states in
arrays, and a step that is prepared, run, sampled and followed up as vLLM does it."""

from types import SimpleNamespace

import numpy as np

import fakes

SLOTS, BLOCKS, POSITIONS = 8, 4, 64


def prepare_pos_seq_lens(slots, starts, computed, positions, lengths):
    positions[:len(slots)] = computed[slots]
    lengths[:len(slots)] = computed[slots] + 1


def combine_sampled_and_draft_tokens(ids, slots, last, starts, lengths, prefill, drafts, cu, count):
    ids[:len(slots)] = last[slots, 0]


class ModelRunnerOutput(SimpleNamespace):
    pass


class AsyncOutput:
    def __init__(self, model_runner_output, sampler_output, num_sampled_tokens, main_stream,
                 copy_stream):
        self.copy_event = "copied"
        self.req_ids = model_runner_output.req_ids
        self.tokens = sampler_output.sampled_token_ids[:, 0].tolist()


class Stream:
    def __init__(self):
        self.waits = 0

    def wait_event(self, event):
        assert event == "copied"
        self.waits += 1


class Graph:
    """The calls of a function, to be made again. What it returns stands at one place."""

    def __init__(self, make):
        self.make, self.made, self.replays = make, SimpleNamespace(), 0

    def replay(self):
        self.replays += 1
        result = self.make()
        if result is not None:
            self.made.__dict__.update(result.__dict__)


class Graphs:
    """In the place of a device's."""

    def __init__(self, fails=False):
        self.captured, self.fails = [], fails

    def __call__(self, make):
        if self.fails:
            raise RuntimeError("a sampler waits for the device")
        self.captured.append(Graph(make))
        return self.captured[-1], self.captured[-1].made


class Tables:
    def __init__(self):
        self.rows = np.zeros((SLOTS, BLOCKS), np.int32)
        self.input_block_tables = [np.zeros((SLOTS, BLOCKS), np.int32).view(fakes.Tensor)]
        self.used, self.staged = np.zeros(SLOTS, np.int32), []

    def append(self, slot, blocks):
        for block in blocks:
            self.staged.append((slot, self.used[slot], block))
            self.used[slot] += 1

    def apply_staged_writes(self):
        for slot, place, block in self.staged:
            self.rows[slot, place] = block
        self.staged = []

    def gather_block_tables(self, slots, padded):
        self.input_block_tables[0][:len(slots)] = self.rows[slots]
        return tuple(table[:padded] for table in self.input_block_tables)


class Sampler:
    """Takes the largest logit."""

    def __init__(self):
        self.calls, self.use_flashinfer = 0, False
        fill = lambda value: SimpleNamespace(np=np.full(SLOTS, value))
        self.sampling_states = SimpleNamespace(top_k=fill(16), top_p=fill(1.0), vocab_size=16)

    def __call__(self, logits, batch):
        self.calls += 1
        tokens = np.asarray(logits).argmax(axis=1).reshape(-1, 1)
        ones = np.ones(len(tokens), np.int32)
        return SimpleNamespace(sampled_token_ids=tokens, num_sampled=ones, num_rejected=0 * ones)


class Runner(fakes.runner_class({}, {}, [])):
    """`weights`, `fused` and `tensors` are attributes of a derived class."""

    def __init__(self):
        super().__init__()
        self.prepared = 0
        self.slots, self.free = {}, list(range(SLOTS))
        integers = lambda *shape: np.zeros(shape, np.int32)
        gpu = lambda array: SimpleNamespace(gpu=array)
        self.req_states = SimpleNamespace(
            num_computed_tokens=gpu(integers(SLOTS)), last_sampled_tokens=integers(SLOTS, 1),
            prefill_len=gpu(integers(SLOTS)), draft_tokens=integers(SLOTS, 0))
        self.input_buffers = SimpleNamespace(
            positions=integers(SLOTS), seq_lens=integers(SLOTS).view(fakes.Tensor),
            input_ids=integers(SLOTS).view(fakes.Tensor),
            query_start_loc=np.arange(SLOTS + 1, dtype=np.int32).view(fakes.Tensor))
        self.main_stream, self.output_copy_stream = Stream(), object()
        self.execute_model_state = None

    def initialize_kv_cache(self, config):
        self.kv_caches = self.tensors
        self.block_tables, self.sampler = Tables(), Sampler()
        self.cudagraph_manager = fakes.Graphs()

    def load_model(self):
        self.model = SimpleNamespace(
            named_parameters=lambda remove_duplicate: self.weights.items(),
            packed_modules_mapping=self.fused, modules=lambda: (),
            forward=self.forward, compute_logits=lambda hidden_states: None)
        self.model_memory_usage = 0

    def update_requests(self, scheduled):
        cached = scheduled.scheduled_cached_reqs
        for name, blocks in zip(cached.req_ids, cached.new_block_ids):
            if blocks is not None:
                self.block_tables.append(self.slots[name], blocks[0])

    def execute_model(self, scheduled, intermediate_tensors=None):
        for name in scheduled.finished_req_ids:
            self.free.append(self.slots.pop(name))
        for new in scheduled.scheduled_new_reqs:
            slot = self.slots[new.name] = self.free.pop()
            self.req_states.num_computed_tokens.gpu[slot] = 0
            self.req_states.last_sampled_tokens[slot, 0] = new.token
            self.block_tables.used[slot] = 0
            self.block_tables.append(slot, new.blocks)
        self.update_requests(scheduled)
        self.block_tables.apply_staged_writes()
        self.prepared += 1
        names = list(scheduled.num_scheduled_tokens)
        slots = np.array([self.slots[name] for name in names])
        batch = fakes.batch([0] * len(names), [0] * len(names), req_ids=names, idx_mapping=slots,
                            idx_mapping_np=slots, num_reqs_after_padding=len(names),
                            query_start_loc=self.input_buffers.query_start_loc, cu_num_logits=None,
                            is_prefilling_np=np.array([name in scheduled.prefilling for name in names]))
        prepare_pos_seq_lens(slots, None, self.req_states.num_computed_tokens.gpu,
                             self.input_buffers.positions, self.input_buffers.seq_lens)
        combine_sampled_and_draft_tokens(self.input_buffers.input_ids, slots,
                                         self.req_states.last_sampled_tokens, *[None] * 6)
        batch.seq_lens = self.input_buffers.seq_lens[:len(names)]
        batch.input_ids = self.input_buffers.input_ids[:len(names)]
        batch.seq_lens_cpu_upper_bound = batch.seq_lens.copy()
        self.prepare_attn(batch)
        self.cudagraph_manager.run_fullgraph(SimpleNamespace(num_tokens=len(names)))
        self.execute_model_state = SimpleNamespace(input_batch=batch)

    def prepare_attn(self, batch):
        return self.block_tables.gather_block_tables(batch.idx_mapping, len(batch.req_ids)), "slots"

    def sample_tokens(self, grammar):
        batch = self.execute_model_state.input_batch
        self.execute_model_state = None
        logits = np.array(self.model.compute_logits(self.hidden(batch)))
        if grammar is not None:
            logits[:, grammar] = 1e9
        drawn = self.sampler(logits, batch)
        output = AsyncOutput(ModelRunnerOutput(req_ids=batch.req_ids), drawn, None, None, None)
        self.postprocess_sampled(batch.idx_mapping, drawn.sampled_token_ids, None, None)
        return output

    def hidden(self, batch):
        return self.cudagraph_manager.hidden_states[:batch.num_reqs]

    def postprocess_sampled(self, slots, tokens, sampled, rejected, starts=None):
        self.req_states.num_computed_tokens.gpu[slots] += 1
        self.req_states.last_sampled_tokens[slots] = tokens


class Scheduler:
    """Steps of sequences that have one token each, which `add` gives."""

    def __init__(self, runner):
        self.runner, self.lengths = runner, {}
        self.new, self.finished, self.blocks = [], set(), list(range(1, 16))

    def add(self, name, token):
        self.new.append(SimpleNamespace(name=name, token=token, blocks=[self.blocks.pop()],
                                        num_computed_tokens=0))
        self.lengths[name] = 0

    def end(self, name):
        self.finished.add(name)
        del self.lengths[name]

    def step(self, grammar=None, **others):
        """The names and the tokens of a step."""
        old = [name for name in self.lengths if name not in {new.name for new in self.new}]
        needs = [self.lengths[name] % POSITIONS == 0 for name in old]
        cached = SimpleNamespace(
            req_ids=old, resumed_req_ids=set(),
            num_computed_tokens=[self.lengths[name] for name in old],
            new_block_ids=[([self.blocks.pop()],) if need else None for need in needs])
        fields = dict(
            scheduled_new_reqs=self.new, scheduled_cached_reqs=cached,
            num_scheduled_tokens=dict.fromkeys(self.lengths, 1),
            total_num_scheduled_tokens=len(self.lengths), finished_req_ids=self.finished,
            preempted_req_ids=None, scheduled_spec_decode_tokens={}, scheduled_encoder_inputs={},
            kv_connector_metadata=None, prefilling=())
        self.new, self.finished = [], set()
        for name in self.lengths:
            self.lengths[name] += 1
        assert self.runner.execute_model(SimpleNamespace(**{**fields, **others}), None) is None
        output = self.runner.sample_tokens(grammar)
        return dict(zip(output.req_ids, output.tokens))
