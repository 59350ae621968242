"""`etc run` of a case."""

import numpy as np


def command(etc, program, case, folder):
    """The command line, behind the words of the program, and the files that it writes by output. The inputs
    are put into the folder."""
    words = [etc, "run", *program]
    for name, value in case.dims.items():
        words += ["--dim", f"{name}={value}"]
    for name, tensor in case.inputs.items():
        np.save(folder / f"{name}.npy", tensor)
        words += ["--input", f"{name}={folder / name}.npy"]
    outputs = {name: folder / f"{name}.out.npy" for name in case.outputs()}
    for name, path in outputs.items():
        words += ["--output", f"{name}={path}"]
    return words, outputs
