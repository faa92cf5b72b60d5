"""The budget of content in flight in a process: one bound for all answers and uploads together."""

import math
import shutil
import weakref
from pathlib import Path

from bestbefore.addon.store.backend.bodies import RESERVE_BYTES
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

FILES_TO_MEMORY = 32
"""How many times the size in memory may be in files."""
MEASURE_EVERY_BYTES = 16 << 20
"""After how many bytes written the free space of the disk is measured again."""
UPLOAD_DIVISOR = 4
"""Uploads, and data buffered for HTTP/2 clients, may take the budget divided by this."""


class Budget:
    """The budget of content in flight: in memory and, beyond that, in unlinked files.

    In flight is content that is being collected, that clients have not read yet, or that waits to be sent to an origin.
    The budget is that of one process: where several serve one port, each has its part (`divided`). Stored copies are
    not in flight: copies in memory are bounded by `hot_max`, copies that wait to be written by `copies.WAITING_BYTES`.
    """

    def __init__(self, memory_bytes: float = math.inf, folder: Path | None = None, files_at_most: int = 256) -> None:
        """`folder`: where files are created; None: no files are used."""
        self.memory_bytes = memory_bytes
        self._folder = folder
        self._files_at_most = files_at_most
        self.used_bytes = 0
        """Bytes in memory."""
        self.file_bytes = 0
        self.files = 0
        self._free_bytes = 0
        """On the disk: as last measured, minus the reserve, minus what was written since."""
        self._written_bytes = MEASURE_EVERY_BYTES

    @staticmethod
    def divided(total_bytes: int, processes: int) -> int:
        """Return the part of one process of several."""
        return total_bytes // max(1, processes)

    @property
    def has_files(self) -> bool:
        """Whether content that does not fit into memory may be in a file."""
        return self._folder is not None

    def take(self, size: int) -> bool:
        """Reserve memory; False if less is left."""
        if self.used_bytes + size > self.memory_bytes:
            return False
        self.used_bytes += size
        return True

    def release(self, size: int) -> None:
        """Release reserved memory."""
        self.used_bytes -= size

    def open_file(self) -> UnlinkedFile | None:
        """Return a new file; None if there are too many, or the disk fails."""
        if self._folder is None or self.files >= self._files_at_most:
            return None
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = UnlinkedFile(self._folder)
        except OSError:
            return None
        self.files += 1
        weakref.finalize(file, self._file_closed).atexit = False
        return file

    def _file_closed(self) -> None:
        """Count a closed file. It is closed with the last reference to it, which may be the store's."""
        self.files -= 1

    def take_file(self, size: int) -> bool:
        """Reserve disk space; False if less is left beside the reserve for the store."""
        assert self._folder is not None
        if self.file_bytes + size > FILES_TO_MEMORY * self.memory_bytes:
            return False
        if self._written_bytes >= MEASURE_EVERY_BYTES or self._free_bytes < size:
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

    def release_file(self, size: int) -> None:
        """Release reserved disk space."""
        self.file_bytes -= size

    def share_bytes(self, sharers: int, at_least: int, at_most: int) -> int:
        """Return how many bytes each of `sharers` connections may buffer, of the part for uploads and HTTP/2."""
        part = self.memory_bytes / UPLOAD_DIVISOR / max(1, sharers)
        return int(max(at_least, min(part, at_most)))
