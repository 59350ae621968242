"""Steps that repeat: the same sequences as in the step before, each with one more token.

In such a step the host has little to say. Positions, new tokens, block tables and the states of the
sampler are in memory of the GPU, and what vLLM launches before and behind the model depends on
nothing else. Yet its host takes longer to launch it than the GPU to run a small model. So the
second part of a run of such steps is two CUDA graphs, captured from vLLM's own calls: from the
positions to the logits, and from the logits to the drawn tokens and the next positions."""

import logging
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from .decoder import Decoder

logger = logging.getLogger("vllm.etc")

# Gives what can be replayed of the calls that a function makes, and what the function returns.
Capture = Callable[[Callable[[], Any]], Tuple[Any, Any]]

BEFORE = 4  # steps of the same sequences before one is captured, which takes the time of a few


class DeviceGraphs:
    """CUDA graphs of torch, which share their memory: only the last two are replayed."""

    def __init__(self, torch: Any, device: Any):
        self._torch, self._device = torch, device
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(device)
        # Torch gives the memory up with its last graph, and cannot take it again: one stays.
        self._kept = self(lambda: torch.zeros(1, device=device))

    def __call__(self, make: Callable[[], Any]) -> Tuple[Any, Any]:
        cuda = self._torch.cuda
        graph = cuda.CUDAGraph()
        self._stream.wait_stream(cuda.current_stream(self._device))
        with self._torch.inference_mode(), cuda.stream(self._stream):
            # Other threads of the engine go on meanwhile.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                made = make()
            finally:
                graph.capture_end()
        return graph, made


class Captured(NamedTuple):
    """The graphs of a step, and where they leave what was drawn."""

    step: Any
    sample: Any
    drawn: Any
    positions: int  # for which the step's page table has room


class Repeats:
    """The steps of one model runner, whose program is `decoder`."""

    def __init__(self, runner: Any, decoder: Decoder, capture: Capture):
        self._runner, self._decoder = runner, decoder
        self._engine = sys.modules[type(runner).__module__]  # has the functions that it calls
        self._capture: Optional[Capture] = capture
        self._sequences: List[str] = []
        self._count = 0  # of steps of these sequences, one after the other
        self._follows = False  # the step under way goes on with them
        self._state: Any = None  # what vLLM keeps of such a step between its two calls
        self._captured: Optional[Captured] = None
        self._output: Any = None  # of the step before, as long as its copy to the host may be under way

    def forget(self) -> None:
        """The next step repeats nothing."""
        self._count, self._follows = 0, False
        self._state = self._captured = None

    def note(self, state: Any) -> None:
        """A step of decoding that vLLM prepared and the program took."""
        count = self._count + 1 if self._follows else 1
        self.forget()
        self._sequences, self._count, self._state = list(state.input_batch.req_ids), count, state

    def has(self, scheduled: Any) -> bool:
        """Whether a step repeats the one before, and its graphs are there. Changes nothing of vLLM."""
        self._follows = self._count > 0 and self._goes_on(scheduled)
        if (not self._follows or self._count < BEFORE
                or self._draws_from_a_stream(self._state.input_batch)):
            return False
        longest = max(scheduled.scheduled_cached_reqs.num_computed_tokens) + 1
        if self._captured is not None and longest > self._captured.positions:
            self._captured = None
        if self._captured is None and self._capture is not None:
            try:
                self._captured = self._capture_step(self._state.input_batch, longest)
            except Exception as error:
                self._capture = None
                logger.warning("etc: steps that repeat are launched call by call: %s", error)
        return self._captured is not None

    def step(self, scheduled: Any) -> Any:
        """The first part of the step that `has` found. Gives what vLLM keeps for the second."""
        runner, batch = self._runner, self._state.input_batch
        runner.update_requests(scheduled)
        if any(blocks is not None for blocks in scheduled.scheduled_cached_reqs.new_block_ids):
            runner.block_tables.apply_staged_writes()
            runner.block_tables.gather_block_tables(batch.idx_mapping, batch.num_reqs_after_padding)
        self._captured.step.replay()
        return self._state

    def logits(self) -> Any:
        """Those of the step, for a sampler that is called."""
        return self._decoder.logits(self._state.input_batch.num_reqs)

    def sample(self) -> Any:
        """The second part: vLLM's output of the step."""
        runner, engine, drawn = self._runner, self._engine, self._captured.drawn
        if self._output is not None:
            runner.main_stream.wait_event(self._output.copy_event)
        self._captured.sample.replay()
        sequences = self._state.input_batch.req_ids
        output = engine.ModelRunnerOutput(
            req_ids=sequences, req_id_to_index={name: i for i, name in enumerate(sequences)},
            sampled_token_ids=None, prompt_logprobs_dict={})
        self._output = engine.AsyncOutput(
            model_runner_output=output, sampler_output=drawn, num_sampled_tokens=drawn.num_sampled,
            main_stream=runner.main_stream, copy_stream=runner.output_copy_stream)
        return self._output

    def _goes_on(self, scheduled: Any) -> bool:
        """Whether a step has the sequences of the one before, with one token each, and nothing else."""
        cached = scheduled.scheduled_cached_reqs
        return (scheduled.total_num_scheduled_tokens == len(self._sequences)
                and list(scheduled.num_scheduled_tokens) == self._sequences
                and not scheduled.scheduled_new_reqs and not scheduled.finished_req_ids
                and not scheduled.preempted_req_ids and not cached.resumed_req_ids
                and not scheduled.scheduled_spec_decode_tokens
                and not scheduled.scheduled_encoder_inputs
                and scheduled.kv_connector_metadata is None
                and max(cached.num_computed_tokens) < self._decoder.limits.positions)

    def _capture_step(self, batch: Any, longest: int) -> Captured:
        runner, engine, decoder = self._runner, self._engine, self._decoder
        states, buffers = runner.req_states, runner.input_buffers
        decoder.reserve(batch.input_ids, batch.num_reqs, longest, batch.query_start_loc)

        def step() -> None:
            engine.prepare_pos_seq_lens(
                batch.idx_mapping, batch.query_start_loc, states.num_computed_tokens.gpu,
                buffers.positions, buffers.seq_lens)
            engine.combine_sampled_and_draft_tokens(
                buffers.input_ids, batch.idx_mapping, states.last_sampled_tokens,
                batch.query_start_loc, batch.seq_lens, states.prefill_len.gpu, states.draft_tokens,
                batch.cu_num_logits, batch.num_reqs)
            decoder.step(batch.input_ids, batch.seq_lens, runner.block_tables.input_block_tables[0],
                         batch.num_reqs, longest, starts=batch.query_start_loc)

        def sample() -> Any:
            drawn = runner.sampler(decoder.logits(batch.num_reqs), batch)
            runner.postprocess_sampled(batch.idx_mapping, drawn.sampled_token_ids, drawn.num_sampled,
                                       drawn.num_rejected, batch.query_start_loc)
            return drawn

        first, _ = self._capture(step)
        second, drawn = self._capture(sample)
        return Captured(first, second, drawn, decoder.room(longest))

    def _draws_from_a_stream(self, batch: Any) -> bool:
        """Whether vLLM draws with FlashInfer, whose place in its stream of random numbers a graph would
        repeat. The other sampler's numbers follow from seed and position."""
        sampler, slots = self._runner.sampler, batch.idx_mapping_np
        states = sampler.sampling_states
        cut = ((states.top_k.np[slots] != states.vocab_size).any()
               or (states.top_p.np[slots] != 1.0).any())
        return bool(sampler.use_flashinfer and cut)
