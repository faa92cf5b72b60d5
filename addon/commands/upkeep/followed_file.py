"""A log file that is followed while others append to it, rotate it or cut it."""

import os
from collections.abc import Iterator
from pathlib import Path

CHUNK_BYTES = 1 << 20


class FollowedFile:
    """The complete lines of a file, as they come. Must be closed."""

    def __init__(self, path: Path, last_bytes: int | None) -> None:
        """Open the file; with `last_bytes` only the lines in its last bytes are read. Raises OSError."""
        self._path = path
        self._file = path.open("rb")
        self._begun = b""
        size = os.fstat(self._file.fileno()).st_size
        if last_bytes is not None and size > last_bytes:
            self._file.seek(size - last_bytes)
            self._file.readline()  # the rest of a line

    def lines(self) -> Iterator[bytes]:
        """Yield the complete lines that are there by now. After a rotation those of the new file follow."""
        yield from self._read()
        if self._is_replaced():
            yield from self._read()  # what came before it was replaced
            self._file.close()
            self._file, self._begun = self._path.open("rb"), b""
            yield from self._read()

    def close(self) -> None:
        self._file.close()

    def _read(self) -> Iterator[bytes]:
        if os.fstat(self._file.fileno()).st_size < self._file.tell():  # it was cut, as by copytruncate
            self._file.seek(0)
            self._begun = b""
        while part := self._file.read(CHUNK_BYTES):
            *lines, self._begun = (self._begun + part).split(b"\n")
            yield from lines

    def _is_replaced(self) -> bool:
        try:
            there = self._path.stat()
        except OSError:  # it was renamed, and the proxy has not opened a new one yet
            return False
        return not os.path.samestat(there, os.fstat(self._file.fileno()))
