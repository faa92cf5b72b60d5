"""The reader of closed times: those in which a crawler, or all, may not contact an object, or any."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bestbefore.policies.prefetch.slots.assignment import Downtime
from bestbefore.replay.planning.inputs.rows import rows_of, seconds


class ClosedTime(NamedTuple):
    """A time of the period in which no contact may start."""

    downtime: Downtime
    name: str = ""
    """The id of the object; empty: any object."""


def read_closed(path: Path, crawlers: int) -> list[ClosedTime]:
    """Read the columns `start_s,end_s` and optionally `id,crawler`; empty values stand for all objects or crawlers.

    Raises TraceError, with the line, for a missing column and an invalid value.
    """

    def closed(row: Mapping[str, str]) -> ClosedTime:
        start_s, end_s = seconds(row, "start_s"), seconds(row, "end_s")
        if not start_s < end_s:
            raise ValueError(f"start_s {start_s:g}, end_s {end_s:g}: expected an end after the start")
        given = row["crawler"]
        if given and not (given.isdecimal() and int(given) < crawlers):
            raise ValueError(f"crawler {given!r}: expected a number from 0 to {crawlers - 1}, or nothing for all")
        return ClosedTime(Downtime(start_s, end_s, int(given) if given else None), row["id"])

    return list(rows_of(path, ("start_s", "end_s"), ("id", "crawler"), closed))
