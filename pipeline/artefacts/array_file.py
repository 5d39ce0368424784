"""Files that grow by chunks, so that what they hold is never in memory as a whole."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy


class ArrayFile:
    """Writes what `np.save` would write of all chunks in a row."""

    def __init__(self, path: Path, dtype: type):
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file = path.open("wb")
        self._write_header()

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.seek(0)
        self._write_header()  # as long as before: numpy leaves room for the length to grow
        self._file.close()

    def append(self, chunk: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(chunk, self.dtype).data)
        self.length += len(chunk)

    def _write_header(self) -> None:
        kind = npy.dtype_to_descr(self.dtype)
        about = {"descr": kind, "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._file, about)
