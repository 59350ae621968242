"""Steps of vLLM by a program that `etc` has compiled: the artifact that $ETC_VLLM_ARTIFACT
names. Without it, nothing of vLLM is touched. docs/vllm.md has the rest."""

import logging
import os

logger = logging.getLogger("vllm.etc")


def register() -> None:
    """The entry point of vLLM's general plugins, called once in each of its processes."""
    artifact = os.environ.get("ETC_VLLM_ARTIFACT")
    if not artifact:
        return
    try:
        from vllm.v1.worker.gpu.model_runner import GPUModelRunner

        from .hooks import install

        install(GPUModelRunner, artifact)
    except Exception as error:  # an engine without the plugin is better than none
        logger.warning("etc: steps stay with vLLM: %s", error)
