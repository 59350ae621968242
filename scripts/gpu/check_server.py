#!/usr/bin/env python3
"""Holds vLLM's server with the plugin under load, and checks every kind of answer.

Clients on the loopback ask for texts of all lengths, greedy and drawn, with prompts that share their
beginnings, and some leave in the middle. The cache is too small for all of them, so sequences are
preempted. Of one answer in eight, each token's log-probability is compared with what vLLM's own
prompt pass gives the same tokens; greedy tokens must be the likeliest there, but for the margin. How
far the two may be apart is measured on vLLM's own steps, with the same load, behind the plugin's.
Fails when an answer is further off, when a request hangs or fails, when memory grows, or when
requests or blocks of the cache are left behind. Needs vLLM 0.25.1, a GPU and libetcrt, as
bench_vllm.py does.

Where a command may not last as long as the load: `--state FOLDER --pause` leaves the server running and
what came of the load so far in the folder, and the same without `--pause` goes on from there. All that
is checked is checked over the whole time.
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import vllm_setup
from vllm_server import Server

POSITIONS = 2048
BLOCKS = 420  # of 64 positions: some 25 of the longest sequences
HANG = 90  # seconds that a request may take
SLACK, FAR = 1.25, 4  # of vLLM's own error that one token in 1,000 has, and of its largest


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--etc", default="etc", help="the compiler")
    parser.add_argument("--out", default="build/check_server", help="folder for artifacts")
    parser.add_argument("--artifacts", help="folder of artifacts MODEL.etca that are compiled already")
    parser.add_argument("--model", default="Qwen3-0.6B")
    parser.add_argument("--prompts", action="store_true",
                        help="a program that takes pieces of prompts, of MODEL-prompts.etca")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=600, help="of load with the plugin, from now on")
    parser.add_argument("--own-seconds", type=int, default=60, help="of load with vLLM's own steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", help="folder of a load that goes on in another command")
    parser.add_argument("--pause", action="store_true", help="leave the rest to another command")
    parser.add_argument("--cache", help="folder for what vLLM compiles, to start sooner another time")
    parser.add_argument("--log", default="build/check_server/server.log", help="the server's output")
    options = parser.parse_args()
    if options.pause and not options.state:
        parser.error("--pause needs --state")
    return options


class Load:
    """What clients asked one way of the server, and what came of it."""

    KEPT = ("left", "drawn", "checked", "made", "failures", "errors", "margins", "readings")

    def __init__(self, server, session, vocabulary, seed):
        self.server, self.session, self.vocabulary = server, session, vocabulary
        self.random = random.Random(seed)
        self.shared = [self.tokens(POSITIONS) for _ in range(8)]  # beginnings of prompts
        self.left = self.drawn = self.checked = 0
        self.made = []  # when an answer was complete, and its tokens
        self.failures = []
        self.errors = []  # of log-probabilities
        self.margins = []  # of greedy tokens that are not the likeliest
        self.readings = []  # of the server's memory

    def save(self, file):
        """For another process to go on with."""
        kept = {name: getattr(self, name) for name in self.KEPT}
        file.write_text(json.dumps({**kept, "random": self.random.getstate()}))

    def take_up(self, file):
        for name, value in json.loads(file.read_text()).items():
            if name == "random":
                version, words, gauss = value
                self.random.setstate((version, tuple(words), gauss))
            else:
                setattr(self, name, value)

    def tokens(self, count):
        return [self.random.randrange(self.vocabulary) for _ in range(count)]

    def length(self, most):
        return round(most ** self.random.random())

    def request(self):
        count = self.length(POSITIONS - 600)
        prompt = (self.random.choice(self.shared)[:count - 1] + self.tokens(1)
                  if self.random.random() < 0.5 else self.tokens(count))
        sampling = {"max_tokens": self.length(500), "ignore_eos": True, "logprobs": 1}
        if self.random.random() < 0.6:
            sampling.update(seed=self.random.randrange(1 << 30),
                            temperature=self.random.choice([0.3, 0.8, 1.2]))
            for name, values in (("top_k", [1, 20, 200]), ("top_p", [0.5, 0.95]), ("min_p", [0.02]),
                                 ("repetition_penalty", [1.2]), ("presence_penalty", [0.5])):
                if self.random.random() < 0.3:
                    sampling[name] = self.random.choice(values)
        else:
            sampling["temperature"] = 0
        return prompt, sampling

    async def ask(self, prompt, sampling, most=None):
        """The tokens of an answer and their log-probabilities; stops listening behind `most` tokens."""
        words = {"token_ids": prompt, "sampling_params": sampling, "stream": True}
        tokens, logs = [], []
        async with self.session.post(f"{self.server.url}/inference/v1/generate", json=words) as answer:
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {(await answer.text())[:300]}")
            async for line in answer.content:
                if not line.startswith(b"data: {"):
                    continue
                chunk = json.loads(line[6:])
                if "choices" not in chunk:
                    raise RuntimeError(f"{chunk}"[:300])
                for choice in chunk["choices"]:
                    tokens += choice["token_ids"]
                    logs += [content["logprob"] for content in choice["logprobs"]["content"]]
                if most is not None and len(tokens) >= most:
                    break
        return tokens, logs

    async def check(self, prompt, sampling, tokens, logs):
        """Compares an answer with vLLM's prompt pass over it."""
        words = {"token_ids": prompt + tokens, "stream": False,
                 "sampling_params": {"max_tokens": 1, "temperature": 0, "prompt_logprobs": 1}}
        async with self.session.post(f"{self.server.url}/inference/v1/generate", json=words) as answer:
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {(await answer.text())[:300]}")
            passed = (await answer.json())["prompt_logprobs"][len(prompt):]
        for token, log, at in zip(tokens, logs, passed, strict=True):
            own = at[str(token)]["logprob"]
            self.errors.append(abs(log - own))
            if sampling["temperature"] == 0:
                self.margins.append(max(entry["logprob"] for entry in at.values()) - own)
        self.checked += 1

    async def one(self):
        prompt, sampling = self.request()
        if self.random.random() < 0.15:
            await self.ask(prompt, sampling, most=self.length(100))
            self.left += 1
            return
        check = self.random.random() < 0.125
        tokens, logs = await self.ask(prompt, sampling)
        if len(tokens) != sampling["max_tokens"] or len(logs) != len(tokens):
            raise RuntimeError(f"{len(tokens)} tokens, {len(logs)} log-probabilities of "
                               f"{sampling['max_tokens']}")
        self.made.append((time.monotonic(), len(tokens)))
        self.drawn += sampling["temperature"] > 0
        if check:
            await self.check(prompt, sampling, tokens, logs)

    async def client(self, end):
        while time.monotonic() < end and len(self.failures) < 20:
            try:
                await asyncio.wait_for(self.one(), HANG)
            except asyncio.TimeoutError:
                self.failures.append("a request took too long")
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}")

    async def run(self, clients, seconds):
        self.end = time.monotonic() + seconds
        await asyncio.gather(*(self.client(self.end) for _ in range(clients)))

    def report(self, way, seconds):
        """`seconds`: of the end, for which the rate is."""
        rate = sum(tokens for when, tokens in self.made if self.end - seconds < when < self.end) / seconds
        print(f"{way}: {len(self.made)} answers ({self.drawn} drawn) of {sum(t for _, t in self.made)} "
              f"tokens, {rate:.0f} tokens/s in the last {seconds} s, {self.left} left in the middle\n"
              f"  checked {self.checked} answers, {len(self.errors)} tokens: log-probabilities off by "
              f"{statistics.median(self.errors or [0]):.4f} (median), {one_in_1000(self.errors):.4f} "
              f"(1 in 1,000), {max(self.errors, default=0):.4f} (most); of {len(self.margins)} greedy tokens "
              f"{sum(margin > 0 for margin in self.margins)} not the likeliest, by "
              f"{one_in_1000(self.margins):.4f} (1 in 1,000), {max(self.margins, default=0):.4f} (most)",
              flush=True)


def one_in_1000(errors):
    """What one of 1,000 is larger than."""
    return sorted(errors)[-1 - len(errors) // 1000] if errors else 0.0


async def watch(server, readings):
    """The server's memory every ten seconds, for as long as it is not cancelled."""
    while True:
        readings.append(server.memory())
        await asyncio.sleep(10)


async def load(server, options, state):
    """What there is to complain of. `state` is what an earlier command has left, or where to leave it."""
    vocabulary = json.loads(vllm_setup.config_file(options.model).read_text())["vocab_size"]
    # The server closes a connection that was idle for 5 s. A request that is sent just then fails.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(None)) as session:
        await server.ready(session)
        complaints = [reason for reason in [vllm_setup.why_left_alone(server.said())] if reason]
        taken = Load(server, session, vocabulary, options.seed)
        if state is not None and state.exists():
            taken.take_up(state)
        watching = asyncio.create_task(watch(server, taken.readings))
        await taken.run(options.clients, options.seconds)
        watching.cancel()
        await asyncio.sleep(3)
        numbers = await server.metrics(session)
        taken.report("plugin", options.own_seconds)
        if options.pause and not taken.failures:
            taken.save(state)
            return complaints
        server.turn("vllm")
        own = Load(server, session, vocabulary, options.seed + 1)
        await own.run(options.clients, options.own_seconds)
        own.report("vLLM", options.own_seconds)
    complaints += taken.failures + own.failures + complaints_of(taken, own) + left_behind(numbers)
    complaints += growth(taken.readings)
    late = vllm_setup.why_left_alone(server.said())
    return complaints + ([late] if late else [])


def complaints_of(taken, own):
    """What of the plugin's answers is further from vLLM's prompt pass than vLLM's own."""
    return [f"{what} are further off than vLLM's own"
            for what, found, most in (("log-probabilities", taken.errors, own.errors),
                                      ("greedy tokens", taken.margins, own.margins))
            if (not found or not most or one_in_1000(found) > SLACK * one_in_1000(most)
                or max(found) > FAR * max(most))]


def left_behind(numbers):
    """Of vLLM's numbers behind the plugin's load."""
    preempted = numbers["vllm:num_preemptions_total"]
    left = {name: numbers[f"vllm:{name}"] for name in ("num_requests_running", "num_requests_waiting",
                                                       "kv_cache_usage_perc")}
    print(f"{preempted:.0f} preemptions; behind the load {left}")
    return ([] if preempted else ["nothing was preempted"]) + (
        ["requests or blocks are left behind"] if any(left.values()) else [])


def growth(readings):
    """From a quarter of the load on, whatever commands it had."""
    settled, last = readings[len(readings) // 4], readings[-1]
    print(f"memory: host {settled[0]:.0f} to {last[0]:.0f} MiB, GPU {settled[1]} to {last[1]} MiB, "
          f"{len(readings)} readings")
    grows = last[0] > 1.05 * settled[0] + 64 or last[1] > settled[1] + 64
    return ["memory grows"] if grows else []


def serve(options, folder):
    """The complaints of a load on the server of a folder, which is started where there is none."""
    state = folder / "load.json"
    if (folder / "server.json").exists():
        server = Server(folder)
    else:
        state.unlink(missing_ok=True)
        shutil.rmtree(folder / "process", ignore_errors=True)
        words = ["--max-model-len", POSITIONS, "--max-num-seqs", options.clients, "--block-size", 64,
                 "--num-gpu-blocks-override", BLOCKS, "--gpu-memory-utilization", 0.5,
                 "--disable-uvicorn-access-log"]
        if options.prompts:
            words += ["--max-num-batched-tokens", 128]
        artifact = vllm_setup.compiled(options, options.model, prompts=options.prompts)
        server = Server.start(folder, options.model, artifact, options.log, words, options.cache)
    stays = False
    try:
        complaints = asyncio.run(load(server, options, state))
        stays = options.pause and not complaints
    finally:
        if not stays:
            server.stop()
    return complaints


def main():
    options = parse_arguments()
    if options.state:
        folder = Path(options.state)
        folder.mkdir(parents=True, exist_ok=True)
        complaints = serve(options, folder)
    else:
        with tempfile.TemporaryDirectory() as made:
            complaints = serve(options, Path(made))
    for complaint in dict.fromkeys(complaints):
        print(f"FAILED: {complaint}")
    if options.pause and not complaints:
        print("no complaint so far; the server goes on")
    else:
        print("no complaint" if not complaints else f"{len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
