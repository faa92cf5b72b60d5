"""Large bodies as files, so that a cache may be much larger than memory."""

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

FILE_FROM_BYTES = 64 * 1024
"""Bodies larger than this are files."""
STREAM_FROM_BYTES = 1024 * 1024
"""Files larger than this are streamed instead of read."""

RESERVE_BYTES = 64 * 1024 * 1024
"""The disk space reserved for histories: bodies are not written when less is free."""

PENDING_S = 3600.0
"""For how long after its last use a file is kept to which nothing refers, if several processes write files."""

FREED_PART = 10
"""When the files take more than they may, the least recently used are removed until a tenth of the bound is free."""

WHOLE_REMEMBERED = 10_000
"""For how many streamed files the result of their check is cached."""
PIECE_BYTES = 256 * 1024

_DIGEST = re.compile(r"[A-Za-z0-9_-]{2,128}")


def new_digest() -> "hashlib.blake2b":
    """Return a new hash object for the digests that name contents."""
    return hashlib.blake2b(digest_size=20)


def is_whole(ref: BodyRef, content: bytes) -> bool:
    """Whether the content has the digest and size of the reference."""
    digest = new_digest()
    digest.update(content)
    return len(content) == ref.size and digest.hexdigest() == ref.digest


class BodyReading(NamedTuple):
    """The result of reading a body."""

    body: bytes | Path | None
    """The content, or the file with large content; None if it is gone."""
    damaged: bool = False
    """Whether it was corrupt, and so was removed."""


class BodyFiles:
    """A directory of files named by the digests of their contents: `ab/abcdef...`. All methods block.

    A file appears atomically. It is written before the copy that refers to it, and removed with a purged or invalidated
    copy, with a part that another part replaces, or by a later sweep when nothing refers to it. Another copy with the
    same content counts as gone then.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None, processes: int = 1) -> None:
        """`max_bytes`: how much the files may take; None: no bound. `processes`: how many write to the folder."""
        self._processes = processes
        self._folder = folder
        self._max_bytes = max_bytes
        self._used_bytes: int | None = None
        """How much the files take; None until they are first listed."""
        self._recent: set[str] = set()
        """Names of files written since the last sweep: the copies that refer to them may be still pending."""
        self._whole: OrderedDict[str, tuple[int, int, int]] = OrderedDict()
        """Digest -> inode, size and time of change of a file whose content was checked."""

    def _path(self, digest: str) -> Path | None:
        """Return the path of the file; None for an invalid digest, such as a path."""
        return self._folder / digest[:2] / digest if _DIGEST.fullmatch(digest) else None

    def write(self, ref: BodyRef, content: bytes | UnlinkedFile) -> None:
        """Write content. Raises OSError, for example if the disk is full."""
        path = self._path(ref.digest)
        if path is None:
            raise OSError(errno.EINVAL, f"{ref.digest!r} cannot name a file")
        self._recent.add(ref.digest)
        if self._has(ref):
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room(ref.size)
        if shutil.disk_usage(self._folder).free < RESERVE_BYTES + ref.size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        number, temporary = tempfile.mkstemp(dir=self._folder, prefix="new-")
        self._recent.add(Path(temporary).name)
        try:
            with os.fdopen(number, "wb") as file:
                if isinstance(content, UnlinkedFile):
                    content.copy_to(file)
                else:
                    file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _make_room(self, size: int) -> None:
        """Remove the least recently used files if there is no room for `size` bytes. Raises OSError if it is too much.

        A copy whose file was removed counts as gone at its next use; a file that is being sent is read to its end.
        """
        if self._max_bytes is None:
            return
        if size > self._max_bytes:
            raise OSError(errno.EINVAL, f"{size} bytes are more than all files may take")
        if self._used_bytes is None or self._used_bytes + size > self._max_bytes:
            self._used_bytes = self._removed_until(self._max_bytes - size)
        self._used_bytes += size * self._processes  # as if the others wrote as much until the next listing

    def _removed_until(self, room: int) -> int:
        """Remove the least recently used files if all take more than `room` bytes; return how much the others take."""
        found = sorted((state.st_mtime_ns, state.st_size, path) for path, state in _states(self.list()))
        used = sum(size for _, size, _ in found)
        if used <= room:
            return used
        for _, size, path in found:
            if used <= room * (FREED_PART - 1) // FREED_PART:
                break
            path.unlink(missing_ok=True)
            used -= size
        return used

    def _has(self, ref: BodyRef) -> bool:
        found = self.find(ref)
        try:
            return found is not None and self._is_whole_file(ref, found)
        except OSError:
            return False

    def find(self, ref: BodyRef) -> Path | None:
        """Return the file, if it exists and has the right size; it may not after a power failure."""
        path = self._path(ref.digest)
        try:
            return path if path is not None and path.stat().st_size == ref.size else None
        except OSError:
            return None

    def read(self, ref: BodyRef) -> BodyReading:
        """Read content and check its digest. The content of a streamed file is read once for the check."""
        path = self.find(ref)
        if path is None:
            return BodyReading(None)
        try:
            if ref.size > STREAM_FROM_BYTES:
                return BodyReading(path) if self._is_whole_file(ref, path) else self._removed(path)
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return BodyReading(None)
        return BodyReading(content) if is_whole(ref, content) else self._removed(path)

    def _is_whole_file(self, ref: BodyRef, path: Path) -> bool:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            found = state.st_ino, state.st_size, state.st_mtime_ns
            if self._whole.get(ref.digest) != found:
                digest = new_digest()
                while piece := file.read(PIECE_BYTES):
                    digest.update(piece)
                if digest.hexdigest() != ref.digest:
                    return False
            # The time of change is that of the last use, by which `_make_room` chooses; it has to be known as checked.
            os.utime(file.fileno())
            state = os.fstat(file.fileno())
        self._whole[ref.digest] = state.st_ino, state.st_size, state.st_mtime_ns
        while len(self._whole) > WHOLE_REMEMBERED:
            self._whole.popitem(last=False)
        return True

    def use(self, refs: Iterable[BodyRef]) -> None:
        """Renew the times of use of files whose contents were used from memory."""
        for ref in refs:
            path = self._path(ref.digest)
            if path is not None:
                with suppress(OSError):  # it is gone
                    os.utime(path)

    def remove(self, digests: Iterable[str]) -> None:
        """Remove the files of removed copies."""
        for digest in digests:
            path = self._path(digest)
            if path is not None:
                with suppress(OSError):  # the next sweep tries again
                    path.unlink(missing_ok=True)

    @staticmethod
    def _removed(path: Path) -> BodyReading:
        path.unlink(missing_ok=True)
        return BodyReading(None, damaged=True)

    def list(self) -> list[Path]:
        """Return all files, including those of interrupted writes."""
        return [p for p in self._folder.glob("**/*") if p.is_file()] if self._folder.is_dir() else []

    def sweep(self, found: Collection[Path], referred_to: Collection[str]) -> int:
        """Remove unreferenced files; return their size in bytes. `found` must be listed before the references are read.

        Files written since the last sweep are kept until the next one.
        """
        recent, self._recent = self._recent, set()
        if self._processes > 1:
            recent |= self._changed_lately(found)
        freed = 0
        for path in found:
            if path.name not in referred_to and path.name not in recent:
                try:
                    size = path.stat().st_size
                    path.unlink()
                except OSError:
                    continue
                freed += size
        self._used_bytes = None
        return freed


    def _changed_lately(self, found: Collection[Path]) -> set[str]:
        """Return the names of files that another process may have written for a copy that is still pending there."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            now_s = os.fstat(file.fileno()).st_mtime
        return {path.name for path, state in _states(found) if state.st_mtime > now_s - PENDING_S}


def _states(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    for path in paths:
        try:
            yield path, path.stat()
        except OSError:  # it was removed meanwhile
            continue
