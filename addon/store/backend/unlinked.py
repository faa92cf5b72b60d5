"""Content in a file without a name, for what is too large for memory and has no place in the store yet."""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

COPIED_BYTES = 1 << 20


class UnlinkedFile:
    """A temporary file without a name.

    No other user can read it, and it is gone with the last reference to it, whatever ends the process.

    What adds, reads and copies blocks. Its length is what was added completely.
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
        """Append. Raises OSError, as when the disk is full; then nothing was added."""
        left, at = memoryview(data), self._size
        while left:
            written = os.pwrite(self._number, left, at)
            left, at = left[written:], at + written
        self._size = at

    def read(self, at: int, most_bytes: int) -> bytes:
        """Read so many bytes from there on, or less at the end. Raises OSError."""
        return os.pread(self._number, min(most_bytes, max(0, self._size - at)), at)

    def read_all(self) -> bytes:
        """Read all of it. Raises OSError."""
        return b"".join(self.read(at, COPIED_BYTES) for at in range(0, self._size, COPIED_BYTES))

    def copy_to(self, file: BinaryIO) -> None:
        """Write all of it to another file, of which little is in memory at a time. Raises OSError."""
        for at in range(0, self._size, COPIED_BYTES):
            file.write(self.read(at, COPIED_BYTES))


def whole(content: bytes | UnlinkedFile) -> bytes:
    """Content as bytes, wherever it is. Blocks, and raises OSError, if it is a file."""
    return content if isinstance(content, bytes) else content.read_all()
