"""The ranks of a decode step in this process, all of them or one, with the memory of each."""

from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from ._library import Error, call
from .group import Group
from .memory import Buffer, HostInts, Place, Queue
from .program import Program
from .runtime import Runtime
from .weights import Checkpoint, Weights


def number_of_ranks(program: Program, devices: Optional[Sequence[int]] = None) -> int:
    """One for each device, else the only number that the program is for; 0: it has no mesh."""
    mesh = program.mesh()
    if mesh is None:
        if devices is not None and len(devices) != 1:
            raise ValueError(f"{len(devices)} devices: the program is for one, as it was compiled "
                             "without `-D tp=N`")
        return 0
    if devices is not None:
        return len(devices)
    least, most, _ = program.dims()[mesh]
    if least != most:
        raise ValueError(f"the program is for {least} to {most} ranks: name a device for each")
    return least


class _Member(NamedTuple):
    """A rank of this process; None: the program has no mesh."""

    rank: Optional[int]
    place: Place


def load_weights(program: Program, checkpoint: Checkpoint, devices: Optional[Sequence[int]] = None,
                 prefix: str = "", group: Optional[Group] = None) -> List[Weights]:
    """Those of each rank, on its device: rank 0 on device 0, and so on, or on `devices`. Of a program
    without a mesh one, and of a `group` with a process for each rank that of the own rank. All ranks
    of this process load at the same time."""
    members = _members(program, devices, group)
    ranks = group.ranks if group else len(members)

    def load(member: _Member) -> Weights:
        member.place.use()
        if member.rank is None:
            return Weights(program, checkpoint, prefix=prefix)
        try:
            return Weights(program, checkpoint, prefix=prefix, rank=member.rank, ranks=ranks)
        except Error as error:
            raise Error(error.status, f"rank {member.rank}: {error}") from None

    with ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(load, members))


def _members(program: Program, devices: Optional[Sequence[int]], group: Optional[Group]) -> List[_Member]:
    on_host = program.target() == "host"
    if group:
        if devices is not None or group.own_rank is None:
            raise ValueError("a group with a process for each rank says where its rank is")
        return [_Member(group.own_rank, Place(not on_host, group.device))]
    ranks = number_of_ranks(program, devices)
    if on_host:
        if devices is not None:
            raise ValueError("the program runs on the host, so its ranks have no devices")
        places = [Place(False)] * max(ranks, 1)
    elif devices is None:
        places = [Place(True, rank) for rank in range(ranks)] or [Place(True)]
    else:
        places = [Place(True, device) for device in devices]
    return [_Member(rank if ranks else None, place) for rank, place in enumerate(places)]


class Rank:
    """A graph's instance with its buffers, and the queue of its launches."""

    def __init__(self, run: Runtime, place: Place):
        self.run = run
        self.buffers: Dict[str, Buffer] = {}
        self.queue = Queue(place)
        self._place = place
        self._params = run.program.params()

    def allocate(self, name: str, size: int) -> None:
        self.buffers[name] = Buffer(size, self._place.on_device, self._place.device)

    def allocate_ints(self, count: int) -> HostInts:
        """On the host, for launches to store to."""
        self._place.use()
        return HostInts(count, self._place.on_device)

    def bind(self, name: str, buffer: str = "") -> None:
        """A buffer, under its own name or that of another parameter."""
        self.run.bind_pointer(name, self.buffers[buffer or name].address, self._params[name].dtype,
                              self.run.shape(name))

    def settle(self) -> None:
        """What was filled is there for the queue."""
        if self._place.on_device:
            self._place.use()
            call("etc_device_synchronize")


class Ranks:
    """All ranks of this process, which are launched together; of a program without a mesh one."""

    def __init__(self, program: Program, devices: Optional[Sequence[int]] = None,
                 group: Optional[Group] = None):
        members = _members(program, devices, group)
        self._on_device = members[0].place.on_device
        self._group = group
        if group is None and members[0].rank is not None:
            on = [member.place.device for member in members if member.place.device is not None]
            self._group = Group(program, devices=on) if on else Group(program, len(members))
        elif group is None:
            members[0].place.use()
        runs = self._group.members if self._group else [Runtime(program)]
        self.all = [Rank(run, member.place) for run, member in zip(runs, members)]

    def bind_weights(self, weights: Sequence[Weights]) -> None:
        """Those of each rank."""
        if len(weights) != len(self.all):
            raise ValueError(f"weights of {len(weights)} ranks for {len(self.all)}")
        for rank, loaded in zip(self.all, weights):
            rank.run.bind_weights(loaded)

    @property
    def _streams(self) -> List[int]:
        return [rank.queue.address for rank in self.all]

    def reserve(self) -> None:
        if self._group:
            self._group.reserve()
        else:
            self.all[0].run.reserve()

    def launch(self) -> None:
        """Each rank, on its queue."""
        if self._group:
            self._group.launch(self._streams)
        else:
            self.all[0].run.launch(self.all[0].queue.address)

    def wait(self) -> None:
        """Until all launches have ended; an Error where one of them failed."""
        if self._group:
            self._group.synchronize(self._streams)
        else:
            self.all[0].run.check(self.all[0].queue.address)
            self.all[0].queue.wait()

    def recorded(self, enqueue: Callable[[], None]) -> Callable[[], None]:
        """Enqueues what a function launches, as one CUDA graph for each rank."""
        if not self._on_device:
            return enqueue
        begun: List[Queue] = []
        graphs: List[Callable[[], None]] = []
        failure: Optional[BaseException] = None
        try:
            for rank in self.all:
                rank.queue.begin()
                begun.append(rank.queue)
            enqueue()
        except BaseException as error:
            failure = error
        for rank, queue in enumerate(begun):  # each of them, whatever has failed before
            try:
                graphs.append(queue.end())
            except Error as error:
                whose = f"rank {rank}: " if len(self.all) > 1 else ""
                failure = failure or Error(error.status, f"{whose}{error}")
        if failure:
            raise failure

        def launch() -> None:
            for graph in graphs:
                graph()

        return launch
