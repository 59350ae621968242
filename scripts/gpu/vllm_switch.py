"""The plugin for vLLM with a switch, for bench_vllm.py: a file names the way that steps go.

The engine has a process of its own, so the file is what both know. `vllm`: its own steps; `calls`: the
program's, each launched call by call; `graphs`: as the plugin does it by itself. With `graphs`, the
milliseconds from a step's positions to its logits on the GPU are appended to the file behind it."""

import os
from pathlib import Path

EVERY = 16  # steps, of which one is timed


def register():
    import etc_vllm
    import torch
    from etc_vllm import hooks, repeats

    etc_vllm.register()
    switch = Path(os.environ["ETC_VLLM_SWITCH"])
    times = switch.with_suffix(".ms")
    take, has, step = hooks.Taker.take, repeats.Repeats.has, repeats.Repeats.step
    timed = []  # pairs of events, and how many steps there were

    def way():
        return switch.read_text()

    def take_if(self):
        return way() != "vllm" and take(self)

    def has_if(self, scheduled):
        if way() == "graphs":
            return has(self, scheduled)
        self.forget()
        return False

    def timed_step(self, scheduled):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        state = step(self, scheduled)
        events[1].record()
        timed.append(events)
        if len(timed) == EVERY:
            with times.open("a") as file:
                file.write(f"{timed[0][0].elapsed_time(timed[0][1])}\n")
            timed.clear()
        return state

    hooks.Taker.take, repeats.Repeats.has, repeats.Repeats.step = take_if, has_if, timed_step
