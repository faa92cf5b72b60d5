"""Content in an unlinked file: too large for memory, and not stored yet."""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

COPIED_BYTES = 1 << 20


class UnlinkedFile:
    """An unlinked temporary file.

    Other users cannot read it, and it vanishes with the last reference to it, also if the process is killed. All
    methods that read or write block. Its length counts only complete writes.
    """

    def __init__(self, folder: Path) -> None:
        """Create the file. Raises OSError."""
        self._size = 0
        self._number = -1
        self._number, name = tempfile.mkstemp(dir=folder, prefix="new-")  # its mode is 0600
        Path(name).unlink()

    def __del__(self) -> None:
        if self._number >= 0:
            os.close(self._number)

    def __len__(self) -> int:
        return self._size

    def add(self, data: bytes) -> None:
        """Append data. Raises OSError, for example if the disk is full; then nothing is added."""
        left, at = memoryview(data), self._size
        while left:
            written = os.pwrite(self._number, left, at)
            left, at = left[written:], at + written
        self._size = at

    def read(self, at: int, most_bytes: int) -> bytes:
        """Read up to `most_bytes` from an offset on. Raises OSError."""
        return os.pread(self._number, min(most_bytes, max(0, self._size - at)), at)

    def read_all(self) -> bytes:
        """Read all of it. Raises OSError."""
        return b"".join(self.read(at, COPIED_BYTES) for at in range(0, self._size, COPIED_BYTES))

    def copy_to(self, file: BinaryIO) -> None:
        """Copy it to another file, piece by piece. Raises OSError."""
        for at in range(0, self._size, COPIED_BYTES):
            file.write(self.read(at, COPIED_BYTES))


def whole(content: bytes | UnlinkedFile) -> bytes:
    """Return content as bytes. For a file, blocks and may raise OSError."""
    return content if isinstance(content, bytes) else content.read_all()
