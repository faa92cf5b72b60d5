"""The parser of [prefetch]."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bestbefore.addon.config import values
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.values import Reader
from bestbefore.addon.config.watch_list import FeedFile, feed_file_from, watch_list
from bestbefore.addon.wishes import FetchRate
from bestbefore.policies.prefetch.table import ALLOCATIONS
from bestbefore.policies.units import DAY_S

MOST_CONNECTIONS = 16
_DEFAULT_BUDGET = FetchRate(5000, DAY_S)
TIMINGS = ("pattern", "even")
"""`pattern`: at the best hours of the object's daily pattern; `even`: evenly spaced."""

_FIELD_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?")


def _own_user_agent() -> str:
    try:
        name = f"bestbefore/{version('bestbefore')}"
    except PackageNotFoundError:
        name = "bestbefore"
    return f"{name} (prefetching for the users of a cache)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchSettings:
    """The settings of [prefetch]: each field is the key of the same name; the values are the defaults.

    All may change while the proxy runs.
    """

    enabled: bool = False
    budget: FetchRate = _DEFAULT_BUDGET
    objective: str = "freshness"
    """A name of `policies.prefetch.table.ALLOCATIONS`."""
    timing: str = "pattern"
    """One of `TIMINGS`."""
    per_host_interval: float = 2.0
    """The shortest time between the starts of two fetches from one registrable domain, seconds."""
    connections_per_host: int = 1
    """How many fetches from one registrable domain may be in progress."""
    robots: bool = True
    """Whether robots.txt is obeyed."""
    user_agent: str = _own_user_agent()
    """The User-Agent of fetches."""
    watch: tuple[str, ...] = ()
    """The URLs of objects that are fetched although nobody asks for them."""
    opml: FeedFile | None = None
    """The feeds that are watched likewise."""

    watched: frozenset[str] = field(init=False, repr=False, compare=False)
    """The URLs of all objects that are watched."""

    def __post_init__(self) -> None:
        feeds = () if self.opml is None else self.opml.urls
        object.__setattr__(self, "watched", frozenset(self.watch).union(feeds))


def read_prefetch(table: Mapping[str, object], folder: Path, problems: Problems) -> PrefetchSettings:
    """Parse the settings; malformed keys take the default. Relative paths are relative to `folder`."""
    readers = {**_READERS, "opml": feed_file_from(folder)}
    for key in table.keys() & _REMOVED.keys():
        problems.add_value(("prefetch", key), table[key], _REMOVED[key])
    kept = {key: value for key, value in table.items() if key not in _REMOVED}
    return PrefetchSettings(**problems.read_keys(("prefetch",), kept, readers))


def _connections(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CONNECTIONS:
        return value
    raise ValueError(f"expected a whole number from 1 to {MOST_CONNECTIONS}")


def _field_value(value: object) -> str:
    if isinstance(value, str) and _FIELD_VALUE.fullmatch(value):
        return value
    raise ValueError("expected up to 256 printable ASCII characters, without spaces at the ends")


_READERS: Mapping[str, Reader[Any]] = {
    "enabled": values.boolean,
    "budget": values.fetch_rate,
    "objective": values.one_of(tuple(ALLOCATIONS)),
    "timing": values.one_of(TIMINGS),
    "per_host_interval": values.duration_s,
    "connections_per_host": _connections,
    "robots": values.boolean,
    "user_agent": _field_value,
    "watch": watch_list,
    "opml": feed_file_from(Path()),
}
_REMOVED: Mapping[str, str] = {
    "replan": "there is no such key any more, as no plan is made in advance: remove this line",
}
PREFETCH_KEYS = tuple(_READERS)
