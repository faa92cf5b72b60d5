"""The parser of [hub] and the options for it."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bestbefore.addon.config import values
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.values import Reader
from bestbefore.addon.rules import Pattern
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.units import HOUR_S

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LEAST_RETAIN_BYTES = 1 << 20
_SHORTEST_HEARTBEAT_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """The settings of [hub]: each field is the key of the same name; the values are the defaults."""

    channel: str | None = None
    """The URL of the Redis server with the channel."""
    key: Path | None = None
    """The file of the key that hub and edges share."""
    site: str = "all"
    """The site of this edge; all edges of a site read one stream."""
    subscribe: tuple[Pattern, ...] = ()
    """What this edge takes from the channel, with each change."""
    download: tuple[Pattern, ...] = ()
    """What this edge takes once."""
    max_behind: float = 600.0
    """How old the hub's knowledge may be at this edge, as the last heartbeat says, seconds."""
    publish: tuple[Pattern, ...] = (Pattern.parse("*"),)
    """What the hub may send."""
    bandwidth: int = 64 << 10
    """What the hub sends to each site, bytes a second."""
    scheduler: str = "gain"
    """What chooses the object that is sent next, a name of `policies.dissemination.table.SCHEDULERS`."""
    max_wait: float = 300.0
    """How long a change may wait before the hub takes the old copy back by a notice, seconds."""
    vouch: float = 6 * HOUR_S
    """How long after its last contact with the origin the hub vouches for an object, seconds."""
    heartbeat: float = 5.0
    """How often the hub sends a heartbeat, seconds."""
    retain: int = 64 << 20
    """How much the stream of a site keeps for edges that are behind, bytes."""

    @property
    def is_edge(self) -> bool:
        """Whether this proxy takes anything from a channel."""
        return bool(self.subscribe or self.download)


def read_hub(
    table: Mapping[str, object], folder: Path, options: Mapping[str, object], problems: Problems
) -> HubSettings:
    """Parse the settings: options override the file. Malformed keys take the default."""
    given = {key: value for key, value in options.items() if value not in (None, [])}
    read = problems.read_keys(("hub",), table, _readers(folder)) | problems.read_options(given, _readers(Path()))
    settings = HubSettings(**read)
    missing = [key for key in ("channel", "key") if settings.is_edge and not {key} & {*table, *given}]
    for key in missing:
        problems.add(("hub",), f"subscribe and download need {key} too")
    if settings.subscribe and settings.download:
        problems.add(("hub",), "expected subscribe or download, not both: a subscriber gets everything that matches")
    return settings


HUB_KEYS = tuple(field.name for field in fields(HubSettings))
HUB_OPTIONS = frozenset(("channel", "key", "site", "subscribe", "download", "bandwidth", "scheduler"))
"""The keys that options may give."""


def _readers(folder: Path) -> Mapping[str, Reader[Any]]:
    """Return the reader of each key; relative paths are relative to `folder`."""
    patterns = values.list_of(_pattern)
    return {
        "channel": _channel,
        "key": values.path_from(folder),
        "site": _site,
        "subscribe": patterns,
        "download": patterns,
        "max_behind": values.timeout_s,
        "publish": patterns,
        "bandwidth": values.size_bytes(1),
        "scheduler": values.one_of(tuple(SCHEDULERS)),
        "max_wait": values.timeout_s,
        "vouch": values.duration_s,
        "heartbeat": _heartbeat_s,
        "retain": values.size_bytes(_LEAST_RETAIN_BYTES),
    }


def _channel(value: object) -> str:
    with suppress(ValueError):
        if value != "embedded":
            return values.store(value)
    raise ValueError("expected the URL of a Redis server that hub and edges reach, such as rediss://HOST:PORT/DB")


def _site(value: object) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise ValueError("expected a name of up to 64 letters, digits, dots, hyphens and underscores")


def _pattern(value: object) -> Pattern:
    return Pattern.parse(values.text(value))


def _heartbeat_s(value: object) -> float:
    seconds = values.timeout_s(value)
    if seconds < _SHORTEST_HEARTBEAT_S:
        raise ValueError("expected 0.05s or more")
    return seconds
