"""The published layout of .safetensors, without its library: eight bytes with the length of a header
in JSON, that header, the numbers."""

import json
import struct

import numpy as np

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
NAMES = {np.dtype(type_): name for name, type_ in TYPES.items()}


def packed(tensors, metadata=None, aligned=True):
    """A file of {name: (dtype, shape, bytes)}; where not aligned, as only some programs read it."""
    header, data = ({"__metadata__": metadata} if metadata else {}), []
    end = 0
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + len(raw)]}
        data.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 if aligned else 0)
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def packed_arrays(arrays, metadata=None, aligned=True):
    """A file of NumPy arrays, each in its own type."""
    return packed({name: (NAMES[array.dtype], array.shape, np.ascontiguousarray(array).tobytes())
                   for name, array in arrays.items()}, metadata, aligned)


def arrays_of(path):
    """The arrays of a file by name, each in its own type (BF16 as float32), and the metadata."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        raw = data[begin:end]
        if entry["dtype"] == "BF16":  # the upper half of a float32
            array = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = np.frombuffer(raw, TYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays, metadata
