"""The exported trace: the files of updates and requests that a replay reads."""

import csv
import gzip
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import TextIOWrapper
from operator import attrgetter
from typing import BinaryIO

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles
from bestbefore.policies.units import HOUR_S

UPDATE_COLUMNS = ("object", "time")
REQUEST_COLUMNS = ("time", "client", "object", "size", "status", "verdict", "reason")

Write = Callable[[BinaryIO, tuple[str, ...], Iterable[tuple[object, ...]]], None]


@dataclass(slots=True)
class ExportedUpdates:
    """The updates of all objects, with counts by the precision of their times."""

    known: set[tuple[float, str]] = field(default_factory=set)
    """Time and object of each update. Two updates of an object at the same time count as one."""
    objects: int = 0
    """How many objects have a history."""
    since_s: float | None = None
    """The earliest t_0 of an object, at which its observation began."""
    in_intervals: int = 0
    """The number of updates known only to lie between two contacts: exported at the middle."""
    folded: int = 0
    """The number of updates of which only the hour is known: spread evenly over it."""

    def add(self, record: Record) -> None:
        """Add the updates in the record of one object."""
        self.objects += 1
        self.since_s = record.since_s if self.since_s is None else min(self.since_s, record.since_s)
        if record.last_modified_s is not None:  # an update before t_0, which policies use too
            self.known.add((record.last_modified_s, record.url))
        for update in record.updates:
            self.known.add((update.point_s, record.url))
            self.in_intervals += not update.exact
        for hour, n in record.folded:
            self.folded += n
            points_s = ((hour + (i + 0.5) / n) * HOUR_S for i in range(n))
            self.known.update((max(point_s, record.since_s), record.url) for point_s in points_s)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Return the rows in the order of time, with the columns `UPDATE_COLUMNS`."""
        return ((url, _number(time_s)) for time_s, url in sorted(self.known))


@dataclass(slots=True)
class ExportedRequests:
    """The logged requests, read day by day while they are exported; the counts are complete after the last row."""

    files: TrafficFiles
    count: int = 0
    clients: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    first_s: float = math.inf
    last_s: float = -math.inf

    def logged(self) -> Iterator[LoggedRequest]:
        """Yield the requests in the order of time."""
        for path in self.files.days():
            # Lines are in the order in which answers ended, each in the file of the day of its request.
            for request in sorted(self.files.read(path), key=attrgetter("time_s")):
                self.count += 1
                self.clients.add(request.client)
                self.objects.add(request.url)
                self.first_s, self.last_s = min(self.first_s, request.time_s), max(self.last_s, request.time_s)
                yield request

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows in the order of time, with the columns `REQUEST_COLUMNS`."""
        for one in self.logged():
            yield _number(one.time_s), one.client, one.url, one.size, one.status, one.verdict, one.reason


def write_csv(file: BinaryIO, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    """Write a header and the rows as CSV in UTF-8."""
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    text.detach()  # writes the rest, and leaves the file open


def write_zipped_csv(file: BinaryIO, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    """Write a header and the rows as CSV, compressed with gzip, without the time of writing."""
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
        write_csv(zipped, columns, rows)  # type: ignore[arg-type]


WRITERS: dict[str, Write] = {"csv": write_csv, "csv.gz": write_zipped_csv}
"""By format, which is also the suffix of the file name."""


def _number(time_s: float) -> int | float:
    return int(time_s) if time_s.is_integer() else time_s
