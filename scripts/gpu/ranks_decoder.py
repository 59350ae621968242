"""A decode program that ranks share, with a GPU for each, and its tensors: one process has all."""

import ctypes

import torch

import etcrt
from etcrt._library import call, library


def part(program, name, tensor, rank, ranks):
    """What a rank has of a weight or a cache, on its GPU. It is row-major, or in tiles: parts are whole
    tiles."""
    axis = program.params()[name].shard
    if axis is not None:
        own, parts = program.part(name, rank, ranks)
        tensor = tensor.chunk(parts, axis)[own]
    return tensor.to(f"cuda:{rank}").contiguous()


def name_in(program, name):
    """That of a program whose ranks have whole experts may be another one."""
    own = f"own_{name}"
    return own if own in program.params() else name


def packed_part(program, name, tensor, rank, ranks):
    mine = part(program, name, tensor, rank, ranks)
    if name not in program.tiles():
        return mine
    with torch.cuda.device(mine.device):
        packed = program.pack(name, mine)
        torch.cuda.synchronize()
    return packed


class Rank(etcrt.Runtime):
    """A rank of a group, which owns the instance."""

    def __init__(self, program, handle):
        self.program, self._params, self._bound = program, program.params(), {}
        self._borrowed = handle

    @property
    def handle(self):
        return self._borrowed


class RanksDecoder:
    """One batch of sequences, as EtcDecoder has it; `weights` has those of each rank, packed. Caches
    and outputs are given and returned as one GPU would have them."""

    def __init__(self, program, weights, k_cache, v_cache, page_table):
        ranks = len(weights)
        batch, max_pages = page_table.shape
        self.group = ctypes.c_void_p()
        call("etc_group_create", program.handle, None, ctypes.c_int32(ranks),
             ctypes.byref(self.group))
        self.parts, self.runtimes = [], []
        for rank in range(ranks):
            handle = ctypes.c_void_p()
            call("etc_group_instance", self.group, ctypes.c_int32(rank), ctypes.byref(handle))
            runtime = Rank(program, handle)
            runtime.set_dim("batch", batch)
            runtime.set_dim("max_pages", max_pages)
            runtime.set_dim("num_pages", k_cache.shape[1])
            device = torch.device("cuda", rank)
            mine = {
                "ids": torch.zeros(batch, dtype=torch.int32, device=device),
                "pos": torch.zeros(batch, dtype=torch.int32, device=device),
                "page_table": page_table.to(device),
                "k_cache": part(program, "k_cache", k_cache, rank, ranks),
                "v_cache": part(program, "v_cache", v_cache, rank, ranks),
                "logits": torch.empty(runtime.shape("logits"), dtype=torch.float32, device=device),
                "token": torch.empty(batch, dtype=torch.int32, device=device),
            }
            if "routing" in program.params():
                mine["routing"] = torch.empty(runtime.shape("routing"), dtype=torch.float32, device=device)
            runtime.bind(**mine, **weights[rank])
            self.parts.append(mine)
            self.runtimes.append(runtime)
        call("etc_group_reserve", self.group)

    @property
    def logits(self):
        padded = torch.cat([mine["logits"].to("cuda:0") for mine in self.parts], 1)
        return padded[:, : self.runtimes[0].program.constants()["vocab_size"]]

    @property
    def token(self):
        """That of rank 0, or -2 where another rank has another."""
        tokens = [mine["token"].to("cuda:0") for mine in self.parts]
        same = torch.stack([each == tokens[0] for each in tokens]).all(0)
        return torch.where(same, tokens[0], -2)

    @property
    def routing(self):
        """That of rank 0, or not a number where another rank has another."""
        found = [mine["routing"].to("cuda:0") for mine in self.parts]
        same = all(torch.equal(each, found[0]) for each in found)
        return found[0] if same else torch.full_like(found[0], float("nan"))

    def state(self):
        return [mine[name] for mine in self.parts for name in ("k_cache", "v_cache")]

    def has_equal_caches(self):
        """Whether ranks that share a part of a cache have the same bits in it."""
        ranks, program = len(self.parts), self.runtimes[0].program
        for name in ("k_cache", "v_cache"):
            first = {}
            for rank, mine in enumerate(self.parts):
                own = program.part(name, rank, ranks)[0]
                bits = mine[name].view(torch.int16)
                if not torch.equal(first.setdefault(own, bits).to(bits.device), bits):
                    return False
        return True

    def poison(self):
        for mine in self.parts:
            mine["logits"].fill_(float("nan"))
            mine["token"].fill_(-1)
            if "routing" in mine:
                mine["routing"].fill_(float("nan"))
            torch.cuda.synchronize(mine["token"].device)

    def start(self):
        call("etc_group_launch", self.group, None)

    def synchronize(self):
        call("etc_group_synchronize", self.group, None)

    def launch(self):
        self.start()
        self.synchronize()

    def step(self, ids, pos):
        for mine in self.parts:
            mine["ids"].copy_(ids)
            mine["pos"].copy_(pos)
        self.poison()
        self.launch()
        more = [self.routing] if "routing" in self.parts[0] else []
        return [self.logits, self.token, *more]

    def free(self):
        library().etc_group_free(self.group)
