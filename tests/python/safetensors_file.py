"""The bytes of a .safetensors file."""

import json
import struct

import numpy as np

_DTYPES = {np.dtype(np.float32): "F32", np.dtype(np.uint16): "BF16"}  # bf16 by its bits


def safetensors(tensors):
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": _DTYPES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *(array.tobytes() for array in tensors.values())])
