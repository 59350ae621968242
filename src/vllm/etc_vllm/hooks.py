"""Where the plugin stands in vLLM's GPU model runner (vllm.v1.worker.gpu, of vLLM 0.25.1).

A step of decoding is a CUDA graph that makes hidden states, and then the logits of those; in a step
with tokens of prompts the model is called. In a step that the program takes, the program is launched
in the place of either, and the logits are its own. Everything else, sampling above all, is vLLM's.
Steps that repeat are graphs of all of that."""

import functools
import logging
from typing import Any, Callable, Optional

from .decoder import Decoder
from .repeats import Capture, DeviceGraphs, Repeats
from .steps import is_decoding, joins_others, longest_of, reason_against

logger = logging.getLogger("vllm.etc")


class Taker:
    """The step under way of one model runner, and what the program made of it."""

    def __init__(self, decoder: Decoder, repeats: Repeats):
        self._decoder = decoder
        self.repeats = repeats
        self.repeated = False  # the step under way is a captured one, and nothing is drawn yet
        self._joins = False  # a sequence of the step under way may read what another one writes
        self._step: Optional[Any] = None  # the batch and the block tables of the step under way
        self._logits: Optional[Any] = None

    def begin(self, scheduled: Any) -> None:
        """A step of vLLM's scheduler."""
        self.forget()
        self._joins = joins_others(scheduled)

    def forget(self) -> None:
        """The step before."""
        self.repeated = False
        self._step = self._logits = None

    def note(self, batch: Any, tables: Any, scores_prompts: bool) -> None:
        """What vLLM prepared. `scores_prompts`: the log-probabilities of prompts need hidden states."""
        if is_decoding(batch) or not (self._joins or scores_prompts):
            self._step = (batch, tables)

    def repeat(self, scheduled: Any) -> Any:
        """The state of a step that repeats, behind its first part."""
        state = self.repeats.step(scheduled)
        self.repeated, self._logits = True, self.repeats.logits()
        return state

    def note_state(self, state: Any) -> None:
        """What vLLM keeps of the step under way."""
        if self._logits is not None and is_decoding(state.input_batch):
            self.repeats.note(state)
        else:
            self.repeats.forget()

    def take(self) -> bool:
        """Launches the step under way, if the program takes it."""
        if self._step is None:
            return False
        (batch, tables), self._step = self._step, None
        if reason_against(batch, tables, self._decoder.limits) is not None:
            return False
        self._logits = self._decoder.step(batch.input_ids, batch.seq_lens, tables[0],
                                          batch.num_reqs, longest_of(batch), batch.num_tokens,
                                          batch.query_start_loc)
        return True

    def hidden(self) -> Any:
        """In the place of the hidden states of the step that was taken."""
        return self._decoder.hidden

    def logits(self) -> Optional[Any]:
        """Those of the step that was taken, once."""
        logits, self._logits = self._logits, None
        return logits


def _give_up(runner: Any, error: Exception) -> None:
    """The one warning: from now on vLLM has all steps."""
    runner.etc_taker = runner.etc_decoder = None
    logger.warning("etc: steps stay with vLLM: %s", error)


def _scores_prompts(runner: Any, batch: Any) -> bool:
    """Whether log-probabilities of a prompt are asked for by a sequence of a step."""
    worker = runner.prompt_logprobs_worker
    return worker is not None and bool(worker.uses_prompt_logprobs[batch.idx_mapping_np].any())


def _unsupported(runner: Any) -> Optional[str]:
    """What of an engine's settings the plugin does not serve."""
    parallel = runner.vllm_config.parallel_config
    for what, found in (
        ("several GPUs", parallel.tensor_parallel_size * parallel.pipeline_parallel_size > 1
         or parallel.data_parallel_size > 1),
        ("LoRA", runner.lora_config is not None),
        ("speculative decoding", runner.speculative_config is not None),
        ("models of text and pictures", runner.supports_mm_inputs),
        ("hidden states for other models", runner.use_aux_hidden_state_outputs),
    ):
        if found:
            return what
    return None


def _check_experts(model: Any) -> None:
    """A ValueError where a kernel of vLLM's has its own order of the elements of experts."""
    for module in model.modules():
        method = getattr(module, "quant_method", None)
        backend = getattr(getattr(method, "unquantized_backend", None), "value", "TRITON")
        if backend != "TRITON":
            raise ValueError(f"vLLM has the experts in the order of {backend}: --moe-backend triton")


def _decoder_of(runner: Any, open_decoder: Callable[[Any], Decoder]) -> Decoder:
    unsupported = _unsupported(runner)
    if unsupported is not None:
        raise ValueError(f"the plugin does not serve {unsupported}")
    decoder = open_decoder(runner)
    if decoder.vocabulary != runner.vocab_size:
        raise ValueError(f"the program has {decoder.vocabulary} tokens, and the model "
                         f"{runner.vocab_size}")
    model = runner.model
    _check_experts(model)
    tensors = dict(model.named_parameters(remove_duplicate=False))
    decoder.bind_weights(tensors, getattr(model, "packed_modules_mapping", {}))
    return decoder


def _open(artifact: str) -> Callable[[Any], Decoder]:
    def open_decoder(runner: Any) -> Decoder:
        import torch
        from etcrt import Program

        config = runner.model_config.hf_text_config.to_dict()
        return Decoder(Program(artifact), config, torch, runner.device)

    return open_decoder


def _take_steps(runner: Any) -> None:
    """In the place of the graphs of whole steps, and of the model in steps that have none."""

    def taken_or(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            taker = runner.etc_taker
            if taker is not None:
                try:
                    if taker.take():
                        return taker.hidden()
                except Exception as error:
                    _give_up(runner, error)
            return original(*args, **kwargs)

        return run

    manager, model = runner.cudagraph_manager, runner.model
    manager.run_fullgraph = taken_or(manager.run_fullgraph)
    model.forward = taken_or(model.forward)


def _take_logits(runner: Any) -> None:
    compute = runner.model.compute_logits

    def compute_logits(hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
        taker = runner.etc_taker
        logits = taker.logits() if taker is not None else None
        return compute(hidden_states, *args, **kwargs) if logits is None else logits

    runner.model.compute_logits = compute_logits


def _capture_of(runner: Any) -> Capture:
    import torch

    return DeviceGraphs(torch, runner.device)


def install(runner_class: Any, artifact: str,
            open_decoder: Optional[Callable[[Any], Decoder]] = None,
            capture_of: Callable[[Any], Capture] = _capture_of) -> None:
    """Puts the plugin into the class of vLLM's model runners, once. `open_decoder` opens the artifact
    for a runner, and `capture_of` says how its steps are captured."""
    if getattr(runner_class, "etc_is_installed", False):
        return
    runner_class.etc_is_installed = True
    opener = open_decoder or _open(artifact)

    def wrapped(name: str) -> Callable[[Callable[..., Any]], None]:
        original = getattr(runner_class, name)

        def put(around: Callable[..., Any]) -> None:
            @functools.wraps(original)
            def method(self: Any, *args: Any, **kwargs: Any) -> Any:
                return around(original, self, *args, **kwargs)

            setattr(runner_class, name, method)

        return put

    @wrapped("load_model")
    def _(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        self.etc_taker = self.etc_decoder = None
        result = original(self, *args, **kwargs)
        try:
            self.etc_decoder = _decoder_of(self, opener)
            self.model_memory_usage += self.etc_decoder.memory  # what is left is for caches
            _take_logits(self)
        except Exception as error:
            _give_up(self, error)
        return result

    @wrapped("initialize_kv_cache")
    def _(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if self.etc_decoder is not None:
            try:
                tables = self.block_tables.input_block_tables
                self.etc_decoder.bind_caches(self.kv_caches, *tables[0].shape)
                self.etc_taker = Taker(self.etc_decoder, Repeats(self, self.etc_decoder,
                                                                 capture_of(self)))
                _take_steps(self)
                logger.info("etc: steps of up to %d sequences with %d positions, and %d new tokens with "
                            "prompts", *self.etc_decoder.limits)
            except Exception as error:
                _give_up(self, error)
        return result

    @wrapped("prepare_attn")
    def _(original: Any, self: Any, input_batch: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, input_batch, *args, **kwargs)
        if self.etc_taker is not None:
            self.etc_taker.note(input_batch, result[0], _scores_prompts(self, input_batch))
        return result

    @wrapped("execute_model")
    def _(original: Any, self: Any, scheduled: Any, *args: Any, **kwargs: Any) -> Any:
        if self.etc_taker is None:
            return original(self, scheduled, *args, **kwargs)
        self.etc_taker.begin(scheduled)
        if not any(args) and not kwargs and self.etc_taker.repeats.has(scheduled):
            self.execute_model_state = self.etc_taker.repeat(scheduled)
            return None
        result = original(self, scheduled, *args, **kwargs)
        if self.etc_taker is not None:
            self.etc_taker.note_state(self.execute_model_state)
        return result

    @wrapped("sample_tokens")
    def _(original: Any, self: Any, grammar: Any = None) -> Any:
        taker = self.etc_taker
        if taker is None or not taker.repeated or grammar is not None:
            return original(self, grammar)
        taker.forget()
        self.execute_model_state = None
        return taker.repeats.sample()

    @wrapped("reload_weights")
    def _(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.etc_decoder is not None:
            _give_up(self, RuntimeError("the engine loads other weights"))
        return original(self, *args, **kwargs)
