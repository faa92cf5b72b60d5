"""The parser of [prefetch]."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bestbefore.addon.config import values
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.values import Reader
from bestbefore.addon.config.watch_list import FeedFile, feed_file_from, watch_list
from bestbefore.addon.prefetch_limits import PERIODS_S, FetchRate
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


@dataclass(frozen=True, slots=True)
class ByteBudget:
    """A number of bytes in a period."""

    size_bytes: int
    period_s: float
    text: str = field(compare=False)
    """As written."""

    @property
    def per_day(self) -> float:
        return self.size_bytes * DAY_S / self.period_s

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PrefetchTarget:
    """What the schedule is to reach, with as few fetches as that takes."""

    measure: str
    """`freshness`, `age` or `delay`."""
    value: float
    """A share of time, or seconds."""
    text: str = field(compare=False)
    """As written."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchSettings:
    """The settings of [prefetch]: each field is the key of the same name; the values are the defaults.

    All may change while the proxy runs.
    """

    enabled: bool = False
    """Whether objects are fetched in the background."""
    budget: FetchRate = _DEFAULT_BUDGET
    """How many fetches may be made."""
    budget_bytes: ByteBudget | None = None
    """How many bytes fetches may receive; None: any number."""
    target: PrefetchTarget | None = None
    """What the fetches are to reach, as far as the budget allows; None: as much as the budget allows."""
    objective: str = "freshness"
    """What the schedule is best for, a name of `policies.prefetch.table.ALLOCATIONS`."""
    timing: str = "pattern"
    """At which moments objects are fetched, one of `TIMINGS`."""
    per_host_interval: float = 2.0
    """The shortest time between the starts of two fetches from one registrable domain, seconds."""
    connections_per_host: int = 1
    """How many fetches from one registrable domain may be in progress."""
    robots: bool = True
    """Whether robots.txt is obeyed."""
    sitemaps: bool = False
    """Whether the sitemaps that a robots.txt names are fetched, of hosts whose objects are."""
    user_agent: str = _own_user_agent()
    """The User-Agent of fetches."""
    watch: tuple[str, ...] = ()
    """The URLs of objects that are fetched although no client requests them."""
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
    read = problems.read_keys(("prefetch",), kept, readers)
    if read.get("sitemaps") and not read.get("robots", True):
        problems.add_value(("prefetch", "sitemaps"), table["sitemaps"], "robots is false: sitemaps are named there")
    target = read.get("target")
    if target is not None and read.setdefault("objective", target.measure) != target.measure:
        problems.add_value(("prefetch", "target"), table["target"], f"objective is {read['objective']}: leave it out")
    return PrefetchSettings(**read)


def _budget_bytes(value: object) -> ByteBudget:
    if isinstance(value, str):
        size, _, period = (part.strip() for part in value.partition("/"))
        with suppress(ValueError):
            if period in PERIODS_S:
                return ByteBudget(values.size_bytes(1)(size), PERIODS_S[period], value)
    raise ValueError('expected a size in an hour, a day or a week, such as "2GiB/day"')


def _target(value: object) -> PrefetchTarget:
    if isinstance(value, str):
        measure, _, amount = value.partition(" ")
        with suppress(ValueError):
            if measure == "freshness" and 0.0 < (share := float(amount)) < 1.0:
                return PrefetchTarget(measure, share, value)
            if measure in ("age", "delay") and (seconds := values.duration_s(amount)) > 0.0:
                return PrefetchTarget(measure, seconds, value)
    raise ValueError('expected a share or a duration to reach, such as "freshness 0.8", "age 2h" or "delay 10m"')


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
    "budget_bytes": _budget_bytes,
    "target": _target,
    "objective": values.one_of(tuple(ALLOCATIONS)),
    "timing": values.one_of(TIMINGS),
    "per_host_interval": values.duration_s,
    "connections_per_host": _connections,
    "robots": values.boolean,
    "sitemaps": values.boolean,
    "user_agent": _field_value,
    "watch": watch_list,
    "opml": feed_file_from(Path()),
}
_REMOVED: Mapping[str, str] = {
    "replan": "there is no such key any more, as no plan is made in advance: remove this line",
}
PREFETCH_KEYS = tuple(_READERS)
