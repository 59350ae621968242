"""vLLM's server of tokens with the plugin: a process that may outlive the one that starts it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import vllm_setup


class Server:
    """In a folder: the model, the process's own files, and what another process needs to know."""

    def __init__(self, folder):
        self.folder = Path(folder)
        known = json.loads((self.folder / "server.json").read_text())
        self.url, self.pid = known["url"], known["pid"]
        self.switch, self.log = Path(known["switch"]), Path(known["log"])

    @classmethod
    def start(cls, folder, model, artifact, log, words, cache=None):
        """A new one, whose command line ends with `words`. `cache` keeps what vLLM compiles, for servers
        of the same folder."""
        folder, log = Path(folder), Path(log)
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            port = any_port.getsockname()[1]
        if not (folder / "model" / "config.json").exists():
            vllm_setup.write_checkpoint(model, folder / "model")
        environment = {**vllm_setup.environment(artifact, folder / "process"), **vllm_setup.caches(cache)}
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", folder / "model",
                   "--tokens-only", "--host", "127.0.0.1", "--port", port, *words]
        with log.open("w") as output:
            process = subprocess.Popen([str(word) for word in command], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        (folder / "server.json").write_text(json.dumps({
            "url": f"http://127.0.0.1:{port}", "pid": process.pid, "log": str(log.resolve()),
            "switch": environment["ETC_VLLM_SWITCH"]}))
        return cls(folder)

    def turn(self, way):
        self.switch.write_text(way)

    def is_alive(self):
        """Whether a process of the server's is left, whoever started it."""
        return any(True for _ in self._processes())

    def _processes(self):
        """The folder of each in /proc, of those that have not ended."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.getpgid(int(folder.name)) == self.pid and " Z " not in (folder / "stat").read_text():
                    yield folder
            except (ProcessLookupError, FileNotFoundError):
                pass

    async def ready(self, session, seconds=240):
        start = time.monotonic()
        while time.monotonic() - start < seconds and self.is_alive():
            try:
                async with session.get(f"{self.url}/health") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(1)
        sys.exit(f"{self.said()[-6000:]}\nthe server is not there")

    def said(self):
        return self.log.read_text(errors="replace")

    async def metrics(self, session):
        """vLLM's own numbers by name, those of all labels added."""
        async with session.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        numbers = {}
        for line in text.splitlines():
            if line.startswith("vllm:"):
                name, value = line.rsplit(" ", 1)
                name = name.split("{")[0]
                numbers[name] = numbers.get(name, 0) + float(value)
        return numbers

    def memory(self):
        """MiB of the server's processes on the host, and of the GPU."""
        host = 0
        for folder in self._processes():
            try:
                lines = (folder / "status").read_text().splitlines()
                host += sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            except (ProcessLookupError, FileNotFoundError):
                pass
        device = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        used = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits",
                               "--id", device],
                              capture_output=True, text=True, check=True).stdout
        return host / 1024, int(used.split()[0])

    def stop(self, patience=20):
        """Ends the server's processes, and only those."""
        for way, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 5)):
            end = time.monotonic() + seconds
            while self.is_alive() and time.monotonic() < end:
                try:
                    os.killpg(self.pid, way)
                except ProcessLookupError:
                    break
                time.sleep(0.5)
        (self.folder / "server.json").unlink(missing_ok=True)
