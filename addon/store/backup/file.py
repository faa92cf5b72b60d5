"""The file of a backup: a line with the version of its format, compressed entries, and a SHA-256 of both.

The entries are MessagePack, each after its length (four bytes, the highest first), in one frame of Zstandard; a length
of 0 ends them. The first is the `Header`.
"""

import hashlib
import os
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

import msgspec
import zstandard

from bestbefore.addon.errors import InputError
from bestbefore.addon.store.backend.keys import SCHEMA
from bestbefore.addon.store.backup.entries import Entry, Header, SavedKey, SavedRecord
from bestbefore.addon.store.backup.learnt import check

FORMAT = 1
_NAME = b"bestbefore backup "
_LENGTH = struct.Struct(">I")
_CHUNK = 1 << 20
_DIGEST_BYTES = hashlib.sha256().digest_size
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SavedRecord | SavedKey).decode
_decode_header = msgspec.msgpack.Decoder(Header).decode


def is_backup(path: Path) -> bool:
    """Whether a file begins as a backup does. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_NAME)) == _NAME


async def write_backup(path: Path, header: Header, entries: AsyncIterator[Entry]) -> int:
    """Write a backup, which replaces the file only when it is complete and on the disk; return its size.

    Only its owner can read it. Raises OSError, and what `entries` raises.
    """
    with _replacing(path) as file:
        hashed = _Hashed(file)
        hashed.write(b"%b%d\n" % (_NAME, FORMAT))
        with zstandard.ZstdCompressor().stream_writer(hashed, closefd=False) as packed:  # type: ignore[arg-type]
            _put(packed, _encode(header))
            async for entry in entries:
                _put(packed, _encode(entry))
            _put(packed, b"")
        file.write(hashed.digest.digest())
        return file.tell()


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file, which then replaces the one at the path; on an exception it is removed."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            yield file.file
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


class _Hashed:
    """Passes on what is written, and hashes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _put(packed: zstandard.ZstdCompressionWriter, encoded: bytes) -> None:
    packed.write(_LENGTH.pack(len(encoded)))
    packed.write(encoded)


class BackupFile:
    """A backup that is whole. Must be closed."""

    def __init__(self, path: Path) -> None:
        """Read and check all of it. Raises InputError for a file that is none, is damaged or is newer; OSError."""
        self._path = path
        self._file = path.open("rb")
        try:
            self._begin = self._checked()
            entries = self._entries()
            try:
                self.header = _decode_header(next(entries))
                self.entries = sum(check(_decode(entry)) for entry in entries)
                """The number of entries after the header."""
            except (ValueError, struct.error, zstandard.ZstdError, msgspec.MsgspecError, StopIteration) as error:
                raise self._damaged(f"it cannot be read: {error}") from None
            self._check_schema()
        except BaseException:
            self._file.close()
            raise

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries."""
        encoded = self._entries()
        next(encoded)
        yield from map(_decode, encoded)

    def close(self) -> None:
        self._file.close()

    def _check_schema(self) -> None:
        if self.header.schema > SCHEMA:
            raise self._newer(f"schema {self.header.schema}; this one reads up to {SCHEMA}")

    def _checked(self) -> int:
        """Return where the compressed entries begin, if the file is whole."""
        first = self._file.readline(len(_NAME) + 20)
        number = first.removeprefix(_NAME).rstrip(b"\n")
        if not first.startswith(_NAME) or not number.isdigit():
            raise InputError(f"{self._path}: is no backup of bestbefore")
        if int(number) > FORMAT:
            raise self._newer(f"format {int(number)}; this one reads up to {FORMAT}")
        begin, size = self._file.tell(), self._path.stat().st_size
        left = size - _DIGEST_BYTES
        if left < begin:
            raise self._damaged("it is cut off")
        digest = hashlib.sha256()
        self._file.seek(0)
        while left and (part := self._file.read(min(left, _CHUNK))):
            digest.update(part)
            left -= len(part)
        if self._file.read() != digest.digest():
            raise self._damaged("its checksum does not fit its content: it was cut off or changed")
        return begin

    def _entries(self) -> Iterator[bytes]:
        self._file.seek(self._begin)
        with zstandard.ZstdDecompressor().stream_reader(self._file, closefd=False) as packed:
            while length := _LENGTH.unpack(_read(packed, _LENGTH.size))[0]:
                yield _read(packed, length)

    def _damaged(self, why: str) -> InputError:
        return InputError(f"{self._path}: {why}; nothing was changed")

    def _newer(self, what: str) -> InputError:
        return InputError(f"{self._path}: written by a newer bestbefore ({what}): use that version")


def _read(packed: zstandard.ZstdDecompressionReader, n_bytes: int) -> bytes:
    """Read so many bytes; fewer at the end."""
    parts = []
    while n_bytes and (part := packed.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)
