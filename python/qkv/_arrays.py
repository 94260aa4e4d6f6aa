"""Arrays in and out of files, whatever library they come from."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Dict, Mapping, Tuple, Union

import numpy as np

from ._program import QkvError

PathLike = Union[str, Path]

# NumPy's names for types, and those of .safetensors files.
TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}


def stacked(array: Any) -> Any:
    """Lists of PyTorch's tensors, as one for each head, as one tensor; anything else as it is."""
    if not isinstance(array, (list, tuple)):
        return array
    parts = [stacked(one) for one in array]
    if parts and all(hasattr(one, "detach") for one in parts):
        import torch
        return torch.stack(parts)
    return parts


def plain(array: Any) -> Tuple[str, np.ndarray]:
    """The type and the numbers of a tensor of PyTorch (any device), JAX or NumPy, of nested lists, or by DLPack.

    Numbers of a type that NumPy lacks (bfloat16) come as their bytes, in an array of two-byte integers. Raises
    QkvError for complex numbers and others that no step has.
    """
    array = stacked(array)
    if hasattr(array, "detach"):  # PyTorch, also on a GPU
        array = array.detach().cpu()
        if str(array.dtype) == "torch.bfloat16":
            import torch
            return "BF16", array.contiguous().view(torch.int16).numpy()
        array = array.resolve_conj().resolve_neg().numpy() if hasattr(array, "resolve_conj") else array.numpy()
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        array = np.from_dlpack(array)
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise QkvError("some of its cells are masked: fill them (array.filled(numpy.nan)), or leave it out")
    numbers = np.asarray(array)
    if numbers.dtype.kind in "OSU" and not isinstance(array, (list, tuple, np.ndarray)):
        raise QkvError(f"give numbers, not {type(array).__name__}")
    kind = TYPES.get(numbers.dtype.name)
    if kind is None:
        raise QkvError(f"numbers of type {numbers.dtype} are not compared: convert them to float64")
    if kind == "BF16":  # JAX's, by ml_dtypes
        return kind, np.ascontiguousarray(numbers).view(np.int16)
    return kind, np.ascontiguousarray(numbers).astype(numbers.dtype.newbyteorder("<"), copy=False)


def write(path: PathLike, arrays: Mapping[str, Any]) -> None:
    """Writes named arrays as a .safetensors file. Raises QkvError where there is none."""
    if not isinstance(arrays, Mapping):
        raise QkvError(f"give a dictionary of steps and their arrays, not {type(arrays).__name__}")
    if not arrays:
        raise QkvError("there are no arrays: give a dictionary of steps and their arrays")
    header: Dict[str, Any] = {}
    pieces, end = [], 0
    for name, array in arrays.items():
        try:
            kind, numbers = plain(array)
        except Exception as error:  # a sparse or quantised tensor, lists of several lengths, an object
            raise QkvError(f"{name} is no array that can be compared: {str(error).splitlines()[0]}") from None
        if str(name) in header:
            raise QkvError(f"two arrays are called {name} (as a text and as a number): give each a name of its own")
        shape = list(np.shape(numbers)) or [1]
        header[str(name)] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + numbers.nbytes]}
        pieces.append(numbers)
        end += numbers.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for numbers in pieces:
            file.write(memoryview(numbers.reshape(-1)).cast("B"))


def read(path: PathLike) -> Dict[str, np.ndarray]:
    """The arrays of a .npz file, by name."""
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}
