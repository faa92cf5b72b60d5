"""The files of the traffic log: one for each day (UTC), with a line per request, append-only.

They show what people have read: other users cannot read them, old files are deleted, and forgotten lines are
overwritten in place, which needs no space on a full disk and no lock while a proxy appends.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from bestbefore.addon.admin.units import utc
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.backend.bodies import RESERVE_BYTES

FOLDER = "traffic"
"""The folder in the state folder."""
DAY_S = 86_400

_DAY_FILE = re.compile(r"\d{4,}-\d\d-\d\d\.jsonl")


class LoggedRequest(msgspec.Struct, array_like=True, frozen=True):
    """A request that was answered from the store, or whose response was stored.

    Its line is a JSON array of these fields.
    """

    time_s: float
    """Policy time of the request."""
    client: str
    """A pseudonym of the client's address, or the address; empty if clients are not distinguished."""
    url: str
    size: int
    """Bytes of content sent."""
    status: int
    verdict: Outcome
    reason: str
    """The detail of Cache-Status."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LoggedRequest).decode


@lru_cache(maxsize=4)
def _day(days: float) -> str:
    """Return the name of the file of a day without its suffix; `days`: whole days since the epoch."""
    return utc(days * DAY_S)[:10]


class TrafficFiles:
    """The traffic log of one state folder, which need not exist. All methods block, and raise OSError.

    Readers skip truncated lines, which remain if the proxy was killed or the disk was full.
    """

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def days(self) -> list[Path]:
        """Return the files, the earliest first."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(path for path in self.folder.iterdir() if _DAY_FILE.fullmatch(path.name))
        return []

    def append(self, requests: Iterable[LoggedRequest]) -> None:
        """Append requests to the files of their days, unless only the disk space reserved for histories is left."""
        by_day: dict[str, list[bytes]] = {}
        for request in requests:
            with suppress(UnicodeEncodeError):  # such a URL is not stored either
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
        """Yield the requests in a file, in the order in which they were answered; none if the file was removed."""
        with suppress(FileNotFoundError), path.open("rb") as file:
            for line in file:
                request = _read(line)
                if request is not None:
                    yield request

    def forget(self, matches: Callable[[str], bool], until_s: float) -> int:
        """Overwrite the requests of some URLs up to a moment; return how many."""
        matching: dict[str, bool] = {}

        def is_meant(request: LoggedRequest) -> bool:
            if request.url not in matching:
                matching[request.url] = matches(request.url)
            return request.time_s <= until_s and matching[request.url]

        return self._overwrite(is_meant, until_s)

    def forget_clients(self, names: Container[str], until_s: float) -> int:
        """Overwrite the requests of clients with these logged names up to a moment; return how many."""
        return self._overwrite(lambda request: request.time_s <= until_s and request.client in names, until_s)

    def _overwrite(self, is_meant: Callable[[LoggedRequest], bool], until_s: float) -> int:
        last_day = _day(until_s // DAY_S)
        return sum(_overwrite(path, is_meant) for path in self.days() if path.stem <= last_day)

    def remove_before(self, oldest_s: float) -> None:
        """Remove the files of days that ended before this moment."""
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
        if size and os.pread(file, 1, size - 1) != b"\n":  # a truncated line
            data = b"\n" + data
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def _overwrite(path: Path, is_meant: Callable[[LoggedRequest], bool]) -> int:
    """Overwrite matching lines with blanks, and incomplete lines too, whose URL is unknown."""
    count = at = 0
    with suppress(FileNotFoundError), path.open("r+b") as file:
        for line in file:
            request = _read(line)
            if line.strip() and (request is None or is_meant(request)):
                os.pwrite(file.fileno(), b" " * len(line.rstrip(b"\n")), at)
                count += request is not None
            at += len(line)
    return count
