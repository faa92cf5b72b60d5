"""The reader of the contacts that were made before a plan is continued."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bestbefore.replay.planning.inputs.rows import rows_of, seconds


class MadeContact(NamedTuple):
    """A contact that was made."""

    name: str
    """The id of the object."""
    at_s: float
    """Seconds from the start of the period; negative: before it."""


def read_made(path: Path) -> list[MadeContact]:
    """Read the columns `id,start_s`, as a file of slots has them. Raises TraceError, with the line."""

    def made(row: Mapping[str, str]) -> MadeContact:
        return MadeContact(row["id"], seconds(row, "start_s"))

    return list(rows_of(path, ("id", "start_s"), (), made))
