"""Opening a trace: plain or gzip, known by its content; read as a stream, block by block or line by line."""

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
"""What reading damaged gzip data raises."""
BLOCK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 1 << 15
"""A longer line is no line of a log; it is ignored. (What is shorter fits a field of CSV, escaped too.)"""

FIRST_LINES = 3
"""Those that a log is known by: of one that was cut off from a larger one, the first is no line."""

Open = Callable[[Path], AbstractContextManager[RawIOBase]]
"""Opens a file for reading, perhaps watched (with a progress bar)."""


def open_plainly(path: Path) -> RawIOBase:
    """The file as it is."""
    return path.open("rb", buffering=0)


@dataclass(frozen=True, slots=True)
class OpenTrace:
    """A trace that is open."""

    path: Path
    file: "BufferedReader[RawIOBase] | GzipFile"
    """What it holds, unpacked if it was gzip."""

    def head(self) -> bytes:
        """The first bytes of what it holds, some thousand or all; they are still to be read."""
        return self.file.peek(BLOCK_BYTES)

    def whole(self, most_bytes: int) -> bytearray:
        """Return all its content. Raises TraceError if that is more, as a small file of gzip may hold any amount."""
        content = bytearray()
        while block := self.file.read1(BLOCK_BYTES):
            content += block
            if len(content) > most_bytes:
                raise TraceError(f"{self.path}: larger than {most_bytes:,} bytes, the most that is read at once")
        return content

    def seekable(self) -> BinaryIO:
        """The same for readers that must look at its end first. What cannot be wound back is held whole."""
        if isinstance(self.file, GzipFile) or not self.file.seekable():
            return BytesIO(self.file.read())
        return self.file


@contextmanager
def opened(path: Path, open_: Open = open_plainly) -> Iterator[OpenTrace]:
    """A trace, to be read within. What is wrong with the file itself is a TraceError that names it."""
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
    """Editors on Windows begin UTF-8 with a mark that is not part of the text."""
    if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))


def first_lines(head: bytes) -> list[str]:
    """The lines that a log is known by, without their ends, of its first bytes."""
    first = head.split(b"\n", FIRST_LINES)[:FIRST_LINES]
    return [line.decode(errors="backslashreplace").rstrip("\r") for line in first]


def blocks(source: OpenTrace, skipped: Skipped) -> Iterator[bytes]:
    """Yield the content of the trace, up to where its gzip data are damaged; that end is noted in `skipped`."""
    while True:
        try:
            block = source.file.read1(BLOCK_BYTES)  # read would lose what it has got before it finds damage
        except DAMAGE as error:
            skipped.add("where the gzip data are corrupt or truncated", f"{error}; what follows is not read")
            return
        if not block:
            return
        yield block


def lines(source: OpenTrace, skipped: Skipped) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the content of each line, without its end. Too long ones are skipped."""
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
