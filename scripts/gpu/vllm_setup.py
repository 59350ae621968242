"""vLLM with the plugin, as the scripts beside it start it: settings, packages, artifacts, models."""

import json
import os
import shutil
from pathlib import Path

import command

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe": "qwen3_moe", "llama": "llama",
         "mistral": "llama", "phi3": "llama"}  # of ir-examples
ARRAYS = "k_cache,v_cache"
EXPERT_ARRAYS = "gate_proj,up_proj,down_proj"  # of a mixture, packed layer by layer
SEVERAL = ["-D", "several_tokens=true", "-D", "last_logits=true"]
SETTINGS = {
    "VLLM_USE_V2_MODEL_RUNNER": "1",
    "VLLM_KV_CACHE_LAYOUT": "HND", "VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ALLREDUCE_USE_SYMM_MEM": "0", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
}
LEFT_ALONE = ("etc: steps stay with vLLM", "etc: steps that repeat are")  # warnings
INSTALLED = "etc: steps of up to"


def config_file(model):
    return ROOT / "ir-examples" / "configs" / f"{model.lower()}.json"


def first_layers(model, layers, folder):
    """The configuration of a model, or of its first so many layers."""
    if not layers:
        return config_file(model)
    config = json.loads(config_file(model).read_text())
    config["num_hidden_layers"] = layers
    file = Path(folder) / f"{model.lower()}-{layers}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(config))
    return file


def compiled(options, model, config=None, prompts=False):
    """The artifact of a model, whose caches are arrays of tensors. `prompts`: it takes pieces of these."""
    name = f"{model.lower()}{'-prompts' if prompts else ''}.etca"
    if options.artifacts:
        return Path(options.artifacts) / name
    config = config or config_file(model)
    kind = json.loads(config.read_text())["model_type"]
    arrays = f"{ARRAYS},{EXPERT_ARRAYS}" if kind == "qwen3_moe" else ARRAYS
    page = ROOT / "ir-examples" / f"{PAGES[kind]}.etir"
    return command.compile_program(options.etc, page, Path(options.out) / name, "--config", config,
                                   "--array", arrays, *(SEVERAL if prompts else []))


def environment(artifact, folder):
    """That of a process with vLLM and the plugin, without pip: the packages and an entry point where
    Python finds them. The entry point is the plugin with a switch, of vllm_switch.py. `folder` is for
    files of this process alone."""
    info = Path(folder) / "etc_vllm-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: etc-vllm\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\netc = vllm_switch:register\n")
    switch = Path(folder) / "switch"
    switch.write_text("graphs")
    packages = [str(folder), *(str(ROOT / part) for part in ("scripts/gpu", "src/vllm", "src/python")),
                *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **SETTINGS, "ETC_VLLM_ARTIFACT": str(artifact.resolve()),
            "ETC_VLLM_SWITCH": str(switch), "PYTHONPATH": os.pathsep.join(packages)}


def caches(folder):
    """Settings that make vLLM keep what it compiles in a folder, which may come from another machine. It
    is found again for a model in a folder of the same path."""
    if folder is None:
        return {}
    folder = Path(folder).resolve()
    return {"VLLM_CACHE_ROOT": str(folder / "vllm"), "TRITON_CACHE_DIR": str(folder / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}


def why_left_alone(log):
    """What of an engine's log says that the plugin did not serve it, or None."""
    for words in LEFT_ALONE:
        if words in log:
            return next(line for line in log.splitlines() if words in line)
    return None if INSTALLED in log else "the plugin was not installed"


def write_checkpoint(model, folder, seed=1):
    """A checkpoint of a model's shape in bf16 with random weights, and a tokenizer whose words are the
    tokens' numbers."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers

    import hf_decoder

    torch.manual_seed(seed)
    made = hf_decoder.build(model, "cuda")
    made.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    shutil.copy(config_file(model), folder / "config.json")
    words = {str(token): token for token in range(made.config.vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    del made
    torch.cuda.empty_cache()
