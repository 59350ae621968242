"""libetcrt in Python: load an artifact, bind tensors by name, launch.

    program = etcrt.Program("row_sum.json")
    run = etcrt.Runtime(program)              # or Runtime("row_sum.json")
    run.bind(a=a, c=c)                        # tensors of torch, cupy, jax or numpy
    run.launch()                              # on torch's current stream, if there is torch

The library is found by $ETCRT, else by name on the loader's path. Nothing but the standard library
is needed to import this.
"""

from ._library import Error, Status
from .group import Group
from .memory import Buffer
from .profile import Profile
from .program import Param, Program, Tile
from .runtime import Runtime
from .weights import Checkpoint, Weights

__all__ = [
    "Buffer",
    "Checkpoint",
    "Error",
    "Group",
    "Param",
    "Profile",
    "Program",
    "Runtime",
    "Status",
    "Tile",
    "Weights",
]
