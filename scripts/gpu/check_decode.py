#!/usr/bin/env python3
"""Acceptance of the decode step: etc against PyTorch on models with random weights.

For each model one artifact serves every batch and context. Sequences of different lengths take
greedy steps, with the tokens that the float32 reference chooses. Each step's logits are compared with
those of the same weights in float32; PyTorch's own bf16 run has an error too, and etc's must not
exceed it by more than a fifth. Both runs of a mixture of experts are given etc's choices of experts,
and where these are not float32's, the margin must be one of rounding. Repeated launches must give
equal bits.
"""

import argparse
import gc
import json
import traceback

import torch
import transformers

import command
import decode_model
import hf_decoder
import routing
from etc_decoder import EtcDecoder, compile_model
from ranks_decoder import RanksDecoder, name_in, packed_part

ALLOWED_RATIO = 1.2
REPEATED_CONTEXT = 512  # or the longest, when it is not among the contexts


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/check_decode", help="folder for artifacts")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--models", default="Qwen3-0.6B,Qwen3-8B,Llama-3.2-1B")
    parser.add_argument("--layers", type=int, help="of each model, where not all fit in float32")
    parser.add_argument("--batches", type=command.integers, default=[1, 2, 3, 8])
    parser.add_argument("--contexts", type=command.integers, default=[1, 17, 512, 4000])
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--launches", type=int, default=1000, help="of the same input")
    parser.add_argument("--ranks", type=int, default=1, help="GPUs that share the model")
    parser.add_argument("--whole-experts", action="store_true", help="of a mixture, on each rank")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    return parser.parse_args()


def sequence_lengths(context, count):
    """The longest is `context`; the others differ, and end in every part of a split."""
    shares = [1.0, 0.0, 0.5, 0.97, 0.1, 0.77, 0.31, 0.63]
    return [max(1, int(context * shares[i % len(shares)])) for i in range(count)]


def relative_error(actual, expected):
    return ((actual - expected).norm() / expected.norm()).item()


def first_largest(logits):
    indices = torch.arange(logits.shape[1], device=logits.device)
    largest = logits == logits.amax(dim=1, keepdim=True)
    return torch.where(largest, indices, logits.shape[1]).amin(dim=1)


def start_caches(config, pos, positions, device):
    """Random keys and values of the positions before each sequence's new one; zeros from there on."""
    shape = decode_model.cache_shape(config, len(pos), positions)
    filled = torch.arange(positions, device=device) < pos[:, None]
    mask = filled[None, :, None, :, None]
    return [torch.randn(shape, dtype=torch.bfloat16, device=device) * mask for _ in range(2)]


def reference_run(decoder, ids, pos, steps):
    """Logits of each step, and the ids that greedy decoding feeds to each."""
    logits, fed = [], []
    for step in range(steps):
        fed.append(ids)
        logits.append(decoder.step(ids, pos + step))
        ids = first_largest(logits[-1])
    return logits, fed


def forced_run(decoder, fed, pos):
    return [decoder.step(ids, pos + step) for step, ids in enumerate(fed)]


def etc_decoder(program, weights, caches, pos):
    """With not-a-numbers in the cache where nothing is yet, and in pages that no sequence has: no sum
    may touch them."""
    batch, positions = len(pos), caches[0].shape[3]
    page_table, num_pages = decode_model.shuffled_pages(batch, positions, 3, pos.device)
    free = torch.arange(positions, device=pos.device) >= pos[:, None]
    pools = [
        decode_model.paged(
            cache[:, :batch].masked_fill(free[None, :, None, :, None], float("nan")),
            page_table,
            num_pages,
        )
        for cache in caches
    ]
    make = RanksDecoder if isinstance(weights, list) else EtcDecoder
    return make(program, weights, *pools, page_table)


def etc_run(decoder, fed, pos):
    """Of each step the logits, the tokens, and of a mixture the weights of experts."""
    outputs = []
    for step, ids in enumerate(fed):
        outputs.append([found.clone() for found in decoder.step(ids, pos + step)])
    return outputs


def compare_steps(outputs, expected, torch_logits):
    """Errors of etc and of PyTorch for each step, and whether all outputs are right."""
    etc_errors, torch_errors, finite, tokens = [], [], True, True
    for (logits, token, *more), exact, rounded in zip(outputs, expected, torch_logits):
        batch = len(logits)
        finite &= all(bool(torch.isfinite(found).all()) for found in (logits, *more))
        tokens &= bool((token.long() == first_largest(logits)).all())
        etc_errors.append(relative_error(logits, exact[:batch]))
        torch_errors.append(relative_error(rounded[:batch], exact[:batch]))
    return etc_errors, torch_errors, finite, tokens


def given_runs(outputs, config, runs, fed, pos):
    """The runs of PyTorch in float32 and bf16 with etc's choices of experts: their logits, and how etc's
    choices compare with those of float32."""
    count = config["num_experts_per_tok"]
    choices = [routing.choices_of(weights, count) for *_, weights in outputs]
    (expected, exact), (torch_logits, rounded) = (
        routers.run(decoder, fed, pos, choices) for routers, decoder in runs
    )
    return expected, torch_logits, routing.compare(choices, exact, rounded)


def differing_launches(decoder, launches):
    """How many launches of the last step's input do not repeat its bits."""
    logits, token = decoder.logits.clone(), decoder.token.clone()
    caches = [cache.view(torch.int16) for cache in decoder.state()]
    before = [cache.clone() for cache in caches]
    different = torch.zeros((), dtype=torch.int64, device=logits.device)
    for _ in range(launches):
        decoder.poison()
        decoder.launch()
        different += (decoder.logits != logits).any() | (decoder.token != token).any()
    same_caches = all(torch.equal(a, b) for a, b in zip(before, caches))
    return int(different) + (0 if same_caches else 1)


def packed_weights(program, weights, ranks):
    """Those of the program, or for several ranks those of each."""
    if ranks == 1:
        return program.pack_all(weights)
    return [
        {
            name_in(program, name): packed_part(program, name_in(program, name), weight, rank, ranks)
            for name, weight in weights.items()
        }
        for rank in range(ranks)
    ]


def check_module_agrees(model, config, device):
    """The batched reference against the module's own way on a prompt, both in float32."""
    length = 9
    prompt = torch.randint(0, config["vocab_size"], (1, length), device=device)
    zeros = torch.zeros(decode_model.cache_shape(config, 1, length), device=device)
    decoder = hf_decoder.Decoder(model, zeros, zeros)
    for position in range(length):
        logits = decoder.step(prompt[:, position], torch.tensor([position], device=device))
    return relative_error(logits[0], hf_decoder.plain_logits(model, prompt[0]))


def check_case(name, batch, context, errors, repeated, turned):
    etc_errors, torch_errors, finite, tokens = errors
    # A NaN is larger than nothing: `not <=` catches it.
    ratios = [a / b for a, b in zip(etc_errors, torch_errors)]
    passed = finite and tokens and all(ratio <= ALLOWED_RATIO for ratio in ratios)
    passed = passed and repeated in (None, 0) and (turned is None or turned[2])
    case = {
        "model": name,
        "batch": batch,
        "context": context,
        "etc_error_max": max(etc_errors),
        "torch_error_max": max(torch_errors),
        "ratio_max": max(ratios),
        "finite": finite,
        "tokens": tokens,
        "differing_launches": repeated,
        "turned_choices": turned,
        "passed": passed,
    }
    print(
        f"{name:14} {batch:5} {context:7}  {case['etc_error_max']:.3e}  "
        f"{case['torch_error_max']:.3e}  {case['ratio_max']:5.3f}  "
        f"{'yes' if finite else 'NO':6} {'yes' if tokens else 'NO':6} "
        f"{'-' if repeated is None else repeated:>9}  {'ok' if passed else 'FAILED'}"
        + ("" if turned is None else f"  {turned[0]} of {turned[1]} choices turned"
           + ("" if turned[2] else ", some by more than rounding")),
        flush=True,
    )
    return case


def check_model(name, options):
    device = options.device
    config = decode_model.read_config(name, options.layers)
    arch = "host" if device == "cpu" else "sm_90a"
    mixture = "num_experts" in config
    more = ["-D", "routing=true"] if mixture else []
    if options.ranks > 1:
        more += ["-D", f"tp={options.ranks}"]
        more += ["-D", "expert_parallel=true"] if mixture and options.whole_experts else []
    program = compile_model(options.etc, name, options.out, arch, layers=options.layers, more=more)
    torch.manual_seed(1)
    model = hf_decoder.build(name, device, options.layers)
    weights = decode_model.pad_vocabulary(hf_decoder.parameters(model), options.ranks)
    weights = packed_weights(program, weights, options.ranks)
    exact = hf_decoder.in_float32(model)
    module_error = check_module_agrees(exact, config, device)
    print(f"{name}: batched reference against the module's own way: {module_error:.1e}")
    routers = [routing.Routers(each) for each in (exact, model)] if mixture else []
    repeated_context = (
        REPEATED_CONTEXT if REPEATED_CONTEXT in options.contexts else max(options.contexts)
    )
    cases = []
    for context in options.contexts:
        lengths = sequence_lengths(context, max(options.batches))
        pos = torch.tensor(lengths, dtype=torch.int32, device=device) - 1
        caches = start_caches(config, pos, context + options.steps, device)
        ids = torch.randint(0, config["vocab_size"], (len(pos),), device=device)
        expected, fed = reference_run(hf_decoder.Decoder(exact, *caches), ids, pos, options.steps)
        if not mixture:
            torch_logits = forced_run(hf_decoder.Decoder(model, *caches), fed, pos)
        for batch in options.batches:
            decoder = etc_decoder(program, weights, caches, pos[:batch])
            fed_here, turned = [ids[:batch] for ids in fed], None
            outputs = etc_run(decoder, fed_here, pos[:batch])
            if mixture:
                few = [cache[:, :batch] for cache in caches]
                runs = [(router, hf_decoder.Decoder(each, *few))
                        for router, each in zip(routers, (exact, model))]
                expected, torch_logits, turned = given_runs(outputs, config, runs, fed_here,
                                                            pos[:batch])
            errors = compare_steps(outputs, expected, torch_logits)
            repeated = None
            if context == repeated_context and batch in (min(options.batches), max(options.batches)):
                repeated = differing_launches(decoder, options.launches)
            cases.append(check_case(name, batch, context, errors, repeated, turned))
    return {"model": name, "module_error": module_error, "cases": cases}, module_error < 1e-4 and all(
        case["passed"] for case in cases
    )


def main():
    options = parse_arguments()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    device = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    print(f"{device}, PyTorch {torch.__version__}, transformers {transformers.__version__}")
    print("relative L2 error of the logits against float32, largest of all steps")
    print(
        f"{'model':14} batch context  etc        PyTorch    ratio  finite tokens differing  result"
    )
    results, passed = [], True
    for name in options.models.split(","):
        try:
            result, model_passed = check_model(name, options)
        except Exception:  # one model's failure must not hide the others' results
            traceback.print_exc()
            result, model_passed = {"model": name, "failed": traceback.format_exc()}, False
        results.append(result)
        passed = passed and model_passed
        gc.collect()
        if options.device == "cuda":
            torch.cuda.empty_cache()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            report = {
                "device": device,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "passed": passed,
                "models": results,
            }
            json.dump(report, file, indent=1)
            file.write("\n")
    print("passed" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    command.run(main)
