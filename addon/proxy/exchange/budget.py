"""The budget of content in flight of a process: one number for all answers and uploads together."""

import math
import shutil
import weakref
from pathlib import Path

from bestbefore.addon.store.backend.bodies import RESERVE_BYTES
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

FILE_TIMES = 32
"""How many times what may be in memory may be in files."""
MEASURED_BYTES = 16 << 20
"""After how much that was written the free space of the disk is measured again."""
UPLOADS_PART = 4
"""Uploads, and what clients over HTTP/2 have not room for, take a part of it: one in so many."""


class Budget:
    """The budget of content in flight in memory and, beyond that, in files without names.

    In flight is what is collected while it comes, what clients have not read yet of it, and what waits to be sent to
    an origin. The number is of one process: where several serve on one port, each is given its part of it
    (`divided`). What is stored is not in flight: the copies held for hits have `hot_max`, those that wait to be
    written `copies.WAITING_BYTES`.
    """

    def __init__(self, memory_bytes: float = math.inf, folder: Path | None = None, files_at_most: int = 256) -> None:
        """`folder`: where the files are; None: there are none."""
        self.memory_bytes = memory_bytes
        self._folder = folder
        self._files_at_most = files_at_most
        self.used_bytes = 0
        """In memory."""
        self.file_bytes = 0
        self.files = 0
        self._free_bytes = 0
        """On the disk, less the reserve, as last measured, less what was written since."""
        self._written_bytes = MEASURED_BYTES

    @staticmethod
    def divided(total_bytes: int, processes: int) -> int:
        """The part of one of so many processes."""
        return total_bytes // max(1, processes)

    @property
    def has_files(self) -> bool:
        """Whether what does not fit into memory may be in a file."""
        return self._folder is not None

    def take(self, size: int) -> bool:
        """Take memory, if there is so much left."""
        if self.used_bytes + size > self.memory_bytes:
            return False
        self.used_bytes += size
        return True

    def give(self, size: int) -> None:
        """Give memory back."""
        self.used_bytes -= size

    def open_file(self) -> UnlinkedFile | None:
        """A new file; None if there may be no more, or the disk does not take any."""
        if self._folder is None or self.files >= self._files_at_most:
            return None
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = UnlinkedFile(self._folder)
        except OSError:
            return None
        self.files += 1
        weakref.finalize(file, self._gone).atexit = False
        return file

    def _gone(self) -> None:
        """A file is closed: with the last reference to it, which the store may have while it waits to be written."""
        self.files -= 1

    def take_file(self, size: int) -> bool:
        """Take so much of the disk, if it has it beside what is reserved for the store."""
        assert self._folder is not None
        if self.file_bytes + size > FILE_TIMES * self.memory_bytes:
            return False
        if self._written_bytes >= MEASURED_BYTES or self._free_bytes < size:
            try:
                self._free_bytes = shutil.disk_usage(self._folder).free - RESERVE_BYTES
            except OSError:
                return False
            self._written_bytes = 0
        if self._free_bytes < size:
            return False
        self._free_bytes -= size
        self._written_bytes += size
        self.file_bytes += size
        return True

    def give_file(self, size: int) -> None:
        """Note that so many bytes are no longer read from a file."""
        self.file_bytes -= size

    def share_bytes(self, sharers: int, at_least: int, at_most: int) -> int:
        """Return how many bytes each of so many connections may have waiting, of the part for uploads and HTTP/2."""
        part = self.memory_bytes / UPLOADS_PART / max(1, sharers)
        return int(max(at_least, min(part, at_most)))
