"""Large bodies as files, so that a cache may be much larger than memory."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from bestbefore.addon.rfc9111.copy import BodyRef

FILE_FROM_BYTES = 64 * 1024
"""Bodies larger than this are files."""
STREAM_FROM_BYTES = 1024 * 1024
"""Files larger than this are not read whole, but handed over to be streamed."""

RESERVE_BYTES = 64 * 1024 * 1024
"""How much of the disk is left to the histories: when there is no more than this, no body is written."""

_DIGEST = re.compile(r"[A-Za-z0-9_-]{2,128}")


class BodyFiles:
    """A directory of files named by the digests of their contents: `ab/abcdef...`. All methods block.

    A file appears whole or not at all. It is written before the record that refers to it, and leaves with a later
    sweep when nothing refers to it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recent: set[str] = set()
        """Digests written since the last sweep: their records may be still on their way."""

    def _path(self, digest: str) -> Path | None:
        """Where the file is; None for what cannot be a digest, such as a path."""
        return self._folder / digest[:2] / digest if _DIGEST.fullmatch(digest) else None

    def write(self, ref: BodyRef, content: bytes) -> None:
        """Raises OSError, as when the disk is full."""
        path = self._path(ref.digest)
        if path is None:
            raise OSError(f"{ref.digest!r} cannot name a file")
        self._recent.add(ref.digest)
        if self.find(ref) is not None:
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if shutil.disk_usage(self._folder).free < RESERVE_BYTES + ref.size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        number, temporary = tempfile.mkstemp(dir=self._folder, prefix="new-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def find(self, ref: BodyRef) -> Path | None:
        """The file, if it is there and of the right size: after a power cut it may be neither."""
        path = self._path(ref.digest)
        try:
            return path if path is not None and path.stat().st_size == ref.size else None
        except OSError:
            return None

    def read(self, ref: BodyRef) -> bytes | Path | None:
        """The content, or of a very large one the file; None if it is gone."""
        path = self.find(ref)
        if path is None or ref.size > STREAM_FROM_BYTES:
            return path
        try:
            return path.read_bytes()
        except OSError:
            return None

    def list(self) -> list[Path]:
        """All files, those left over from an interrupted write too."""
        return [p for p in self._folder.glob("**/*") if p.is_file()] if self._folder.is_dir() else []

    def sweep(self, found: Collection[Path], referred_to: Collection[str]) -> int:
        """Remove those of the files found, before the references were read, that nothing refers to; their bytes.

        What was written since the sweep before stays until the next one.
        """
        recent, self._recent = self._recent, set()
        freed = 0
        for path in found:
            if path.name not in referred_to and path.name not in recent:
                try:
                    size = path.stat().st_size
                    path.unlink()
                except OSError:
                    continue
                freed += size
        return freed
