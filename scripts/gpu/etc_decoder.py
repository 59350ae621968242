"""A decode program of ir-examples/ as compiled by etc, with its tensors."""

from pathlib import Path

import torch

import command
import decode_model
import etcrt


def artifact_path(name, folder, arch, schedule):
    suffix = "so" if arch == "host" else "cubin"
    return Path(folder) / f"{name.lower()}-{schedule}.{suffix}"


def compile_model(etc, name, folder, arch, schedule="static", layers=None, more=()):
    """The artifact of a model, with `more` arguments of `etc compile`."""
    source = decode_model.PROGRAMS[decode_model.read_config(name)["model_type"]]
    artifact = artifact_path(name, folder, arch, schedule)
    words = ["--config", decode_model.config_file(name), "--arch", arch, "--schedule", schedule]
    if layers:
        words += ["-D", f"num_hidden_layers={layers}"]
    return etcrt.Program(str(command.compile_program(etc, source, artifact, *words, *more)))


class EtcDecoder:
    """One batch of sequences. The caches are [layers, pages, kv heads, page size, head_dim], and
    `page_table` [batch, max pages] says which pages a sequence has. Weights are packed. A step gives
    logits, tokens, and the weights of experts where the program tells them. Logits of padding are left out."""

    def __init__(self, program, weights, k_cache, v_cache, page_table):
        batch, max_pages = page_table.shape
        device = k_cache.device
        self.k_cache, self.v_cache = k_cache, v_cache
        self.ids = torch.zeros(batch, dtype=torch.int32, device=device)
        self.pos = torch.zeros(batch, dtype=torch.int32, device=device)
        self.token = torch.empty(batch, dtype=torch.int32, device=device)
        self.runtime = etcrt.Runtime(program)
        self.runtime.set_dim("batch", batch)
        self.runtime.set_dim("max_pages", max_pages)
        self.runtime.set_dim("num_pages", k_cache.shape[1])
        padded = torch.empty(self.runtime.shape("logits"), dtype=torch.float32, device=device)
        self.logits = padded[:, : program.constants()["vocab_size"]]
        self.runtime.bind(
            ids=self.ids,
            pos=self.pos,
            page_table=page_table,
            k_cache=k_cache,
            v_cache=v_cache,
            logits=padded,
            token=self.token,
            **weights,
        )
        self.outputs = [self.logits, self.token]
        if "routing" in program.params():
            shape = self.runtime.shape("routing")
            self.outputs.append(torch.empty(shape, dtype=torch.float32, device=device))
            self.runtime.bind(routing=self.outputs[-1])
        self.runtime.reserve()

    def poison(self):
        """Makes outputs that a launch leaves alone stand out."""
        for output in self.outputs:
            output.fill_(float("nan") if output.is_floating_point() else -1)

    def state(self):
        return [self.k_cache, self.v_cache]

    def launch(self):
        self.runtime.launch()

    def step(self, ids, pos):
        self.ids.copy_(ids)
        self.pos.copy_(pos)
        self.poison()
        self.launch()
        return self.outputs
