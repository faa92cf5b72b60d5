"""The files of the traffic log: one for each day (UTC) with a line per request, appended and never rewritten.

They hold what people have read: no other user may read them, old ones are deleted, and lines to be forgotten are
overwritten in place, which needs no room on a full disk while a proxy may append.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from bestbefore.addon.admin.units import utc
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.backend.bodies import RESERVE_BYTES

FOLDER = "traffic"
"""Of a state folder."""
DAY_S = 86_400

_DAY_FILE = re.compile(r"\d{4,}-\d\d-\d\d\.jsonl")


class LoggedRequest(msgspec.Struct, array_like=True, frozen=True):
    """A request that was answered from the store, or whose response was stored.

    Its line is a JSON array of these fields.
    """

    time_s: float
    """Policy time at which it came."""
    client: str
    """A name for the client's address, or the address; empty if clients are not distinguished."""
    url: str
    size: int
    """Bytes of content sent."""
    status: int
    verdict: Outcome
    reason: str
    """The word of Cache-Status' detail."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LoggedRequest).decode


@lru_cache(maxsize=4)
def _day(days: float) -> str:
    """Return the name of the file of a day without its suffix; `days`: whole days since the epoch."""
    return utc(days * DAY_S)[:10]


class TrafficFiles:
    """The traffic log of one state folder, which need not exist. All methods block, and raise OSError.

    A line that was cut off, when the proxy was killed or the disk was full, is skipped by readers.
    """

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def days(self) -> list[Path]:
        """The files, the earliest first."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(path for path in self.folder.iterdir() if _DAY_FILE.fullmatch(path.name))
        return []

    def append(self, requests: Iterable[LoggedRequest]) -> None:
        """Add requests to the files of their days. The last of the disk is left to the histories."""
        by_day: dict[str, list[bytes]] = {}
        for request in requests:
            with suppress(UnicodeEncodeError):  # a name that could not be stored either
                by_day.setdefault(_day(request.time_s // DAY_S), []).append(_encode(request))
        if not by_day:
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.chmod(0o700)
        for day, lines in by_day.items():
            data = b"\n".join(lines) + b"\n"
            if shutil.disk_usage(self.folder).free < RESERVE_BYTES + len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            _append(self.folder / f"{day}.jsonl", data)

    def read(self, path: Path) -> Iterator[LoggedRequest]:
        """The requests of one file, in the order in which they were answered; none if it has been removed."""
        with suppress(FileNotFoundError), path.open("rb") as file:
            for line in file:
                request = _read(line)
                if request is not None:
                    yield request

    def forget(self, matches: Callable[[str], bool], until_s: float) -> int:
        """Overwrite the requests of some URLs up to a moment. How many."""
        matching: dict[str, bool] = {}

        def is_meant(request: LoggedRequest) -> bool:
            if request.url not in matching:
                matching[request.url] = matches(request.url)
            return request.time_s <= until_s and matching[request.url]

        last_day = _day(until_s // DAY_S)
        return sum(_overwrite(path, is_meant) for path in self.days() if path.stem <= last_day)

    def remove_before(self, oldest_s: float) -> None:
        """Remove the files of the days that ended up to this moment."""
        first_day = _day(max(oldest_s, 0.0) // DAY_S)
        for path in self.days():
            if path.stem < first_day:
                path.unlink(missing_ok=True)


def _read(line: bytes) -> LoggedRequest | None:
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _append(path: Path, data: bytes) -> None:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":  # a line that was cut off
            data = b"\n" + data
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def _overwrite(path: Path, is_meant: Callable[[LoggedRequest], bool]) -> int:
    """Overwrite the lines that match with blanks, and incomplete lines too: they may be about anything."""
    count = at = 0
    with suppress(FileNotFoundError), path.open("r+b") as file:
        for line in file:
            request = _read(line)
            if line.strip() and (request is None or is_meant(request)):
                os.pwrite(file.fileno(), b" " * len(line.rstrip(b"\n")), at)
                count += request is not None
            at += len(line)
    return count
