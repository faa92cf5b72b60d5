"""The interface of a backend's part for sites, and how what is known of them is encoded."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from bestbefore.policies.validation.siblings.changes import SiteChange, directory_of
from bestbefore.policies.validation.siblings.siblings import Siblings
from bestbefore.policies.validation.siblings.trials import Trials


class KeptSite(NamedTuple):
    """What the backend has of a site."""

    version: int
    """It rises with each change; 0: the backend has nothing."""
    siblings: Siblings


class SiteNews(NamedTuple):
    """What one process has learnt of a site since it was published last."""

    domain: str
    by: str
    """The name of the process."""
    siblings: Siblings
    version: int = 0
    """The version that contains it."""
    after: int = 0
    """The version before that; -1 if the site was forgotten."""


class SiteKeeper(Protocol):
    """The part of a backend for sites. Its methods raise the errors of `Backend`."""

    on_news: Callable[[SiteNews], None]
    """Called with the news of all processes, this one included, in the order of their versions."""

    async def read(self, domain: str) -> KeptSite:
        """Return what is known of a site."""

    async def add(self, news: SiteNews) -> None:
        """Add to what is known of a site, and publish it, atomically. A repeated call counts trials twice."""

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget all sites that have objects with such URLs, and publish that."""


class _Wire(msgspec.Struct, array_like=True):
    """News as they are published."""

    domain: str
    by: str
    of_site: Trials
    by_directory: dict[str, Trials]
    by_name: dict[str, Trials]
    changes: list[tuple[float, str]]


_decoder = msgspec.msgpack.Decoder(_Wire)
_change_decoder = msgspec.msgpack.Decoder(tuple[float, str])


def encode_news(news: SiteNews) -> bytes:
    """Encode news, without their versions."""
    known = news.siblings
    changes = [(change.update_s, change.name) for change in known.changes]
    return msgspec.msgpack.encode(
        _Wire(news.domain, news.by, known.of_site, known.by_directory, known.by_name, changes)
    )


def decode_news(encoded: bytes) -> SiteNews:
    """Decode published news: version, version before and content. Raises ValueError."""
    version, after, content = encoded.split(b" ", 2)
    wire = _decoder.decode(content)
    siblings = siblings_of(wire.of_site, wire.by_directory, wire.by_name, wire.changes)
    return SiteNews(wire.domain, wire.by, siblings, int(version), int(after))


def siblings_of(
    of_site: Trials, by_directory: Mapping[str, Trials], by_name: Mapping[str, Trials], changes: list[tuple[float, str]]
) -> Siblings:
    """Return what is known of a site from its parts."""
    siblings = Siblings()
    siblings.of_site = of_site
    siblings.by_directory.update(by_directory)
    siblings.by_name.update(by_name)
    for update_s, name in changes:
        siblings.changes.add(SiteChange(update_s, name, directory_of(name)))
    return siblings


def encode_change(change: SiteChange) -> bytes:
    """Encode a change."""
    return msgspec.msgpack.encode((change.update_s, change.name))


def decode_change(encoded: bytes) -> tuple[float, str]:
    """Decode a change: its time and the name of the object. Raises ValueError."""
    return _change_decoder.decode(encoded)
