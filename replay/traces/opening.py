"""The opening of traces, plain or gzip by content, and reading by blocks or lines."""

import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from gzip import BadGzipFile, GzipFile
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import BinaryIO

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.skipped import Skipped

GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (EOFError, BadGzipFile, zlib.error)
"""The exceptions raised for damaged gzip data."""
BLOCK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 1 << 15
"""The most bytes of a line in a log; longer lines are skipped. (A shorter one fits into a CSV field, also escaped.)"""

FIRST_LINES = 3
"""The number of lines by which a log is recognised; the first line of a split log may be incomplete."""

Open = Callable[[Path], AbstractContextManager[RawIOBase]]
"""Opens a file for reading, e.g. with a progress bar."""


def open_plainly(path: Path) -> RawIOBase:
    """Open a file without a progress bar."""
    return path.open("rb", buffering=0)


@dataclass(frozen=True, slots=True)
class OpenTrace:
    """An open trace file."""

    path: Path
    file: "BufferedReader[RawIOBase] | GzipFile"
    """The content, decompressed if it is gzip."""

    def head(self) -> bytes:
        """Return the first bytes of the content, some thousand or all, without consuming them."""
        return self.file.peek(BLOCK_BYTES)

    def whole(self, most_bytes: int) -> bytearray:
        """Return the whole content. Raises TraceError if it is larger, as a small gzip file may expand to any size."""
        content = bytearray()
        while block := self.file.read1(BLOCK_BYTES):
            content += block
            if len(content) > most_bytes:
                raise TraceError(f"{self.path}: larger than {most_bytes:,} bytes, the most that is read at once")
        return content

    def seekable(self) -> BinaryIO:
        """Return the content as a seekable file; gzip data and pipes are read into memory."""
        if isinstance(self.file, GzipFile) or not self.file.seekable():
            return BytesIO(self.file.read())
        return self.file


@contextmanager
def open_trace(path: Path, open_: Open = open_plainly) -> Iterator[OpenTrace]:
    """Open a trace. Errors of the file itself become a TraceError with its name."""
    try:
        with open_(path) as raw, BufferedReader(raw, BLOCK_BYTES) as file:
            if file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
                with GzipFile(fileobj=file, mode="rb") as unpacked:
                    _pass_mark(unpacked)
                    yield OpenTrace(path, unpacked)
            else:
                _pass_mark(file)
                yield OpenTrace(path, file)
    except DAMAGE as error:
        raise TraceError(f"{path}: the gzip data are corrupt or truncated: {error}") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None


def _pass_mark(file: "BufferedReader[RawIOBase] | GzipFile") -> None:
    """Skip the byte order mark with which some editors begin UTF-8 text."""
    if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))


def first_lines(head: bytes) -> list[str]:
    """Return the lines by which a log is recognised, from its first bytes, without line ends."""
    first = head.split(b"\n", FIRST_LINES)[:FIRST_LINES]
    return [line.decode(errors="backslashreplace").rstrip("\r") for line in first]


def blocks(source: OpenTrace, skipped: Skipped) -> Iterator[bytes]:
    """Yield the content of a trace in blocks, up to damaged gzip data, which are noted in `skipped`."""
    while True:
        try:
            block = source.file.read1(BLOCK_BYTES)  # read would discard the data before the damage
        except DAMAGE as error:
            skipped.add("where the gzip data are corrupt or truncated", f"{error}; what follows is not read")
            return
        if not block:
            return
        yield block


def lines(source: OpenTrace, skipped: Skipped) -> Iterator[tuple[int, bytes]]:
    """Yield the number, from 1, and the content of each line without its end; lines that are too long are skipped."""
    number = 0
    rest = b""
    cut = False
    for block in blocks(source, skipped):
        first, *others = block.split(b"\n")
        if not others:
            rest, cut = (b"", True) if len(rest) + len(first) > LONGEST_LINE_BYTES else (rest + first, cut)
            continue
        last = others.pop()
        for line in (b"" if cut else rest + first, *others):
            number += 1
            if cut or len(line) > LONGEST_LINE_BYTES:
                skipped.add(f"line {number}", f"longer than {LONGEST_LINE_BYTES:,} bytes")
                cut = False
            else:
                yield number, line
        rest = last
    if cut or len(rest) > LONGEST_LINE_BYTES:
        skipped.add(f"line {number + 1}", f"longer than {LONGEST_LINE_BYTES:,} bytes")
    elif rest:
        yield number + 1, rest
