"""The objects that are fetched although no client requests them: those of `watch`, and the feeds of an OPML file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bestbefore.addon.config import values
from bestbefore.addon.config.values import Reader
from bestbefore.addon.feeds.opml import FILE_BYTES, feed_addresses
from bestbefore.addon.rfc9111.message import Target

MOST_WATCHED = 10_000
"""The most objects of one list."""
_NAMED = 3
"""How many addresses that cannot be used are named."""


@dataclass(frozen=True, slots=True)
class FeedFile:
    """The feeds of an OPML file, as read."""

    file: str
    urls: tuple[str, ...] = field(repr=False)
    unusable: tuple[str, ...] = ()
    """Addresses that are neither http nor https URLs."""

    @classmethod
    def of(cls, file: str, addresses: Sequence[str]) -> Self:
        read = [(address, _normalised(address)) for address in addresses]
        urls = dict.fromkeys(url for _, url in read if url is not None)
        return cls(file, tuple(urls), tuple(address for address, url in read if url is None))

    def __str__(self) -> str:
        count = f"{len(self.urls)} feed{'' if len(self.urls) == 1 else 's'}"
        if not self.unusable:
            return f"{self.file}: {count}"
        named = ", ".join(ascii(address) for address in self.unusable[:_NAMED])
        more = ", ..." if len(self.unusable) > _NAMED else ""
        return f"{self.file}: {count}; {len(self.unusable)} left out as not http or https: {named}{more}"


def watched_url(value: object) -> str:
    """Parse the URL of a single object."""
    url = _normalised(values.text(value))
    if url is None:
        raise ValueError(
            'expected an http or https URL, such as "https://example.org/feed.xml" (for objects by a pattern, set '
            'prefetch = "always" in a rule)'
        )
    return url


def watch_list(value: object) -> tuple[str, ...]:
    """Parse a list of URLs; each is kept once."""
    urls = tuple(dict.fromkeys(values.list_of(watched_url)(value)))
    if len(urls) > MOST_WATCHED:
        raise ValueError(f"expected at most {MOST_WATCHED} URLs")
    return urls


def feed_file_from(folder: Path) -> Reader[FeedFile]:
    """Return a parser of paths of OPML files, which it reads."""
    read_path = values.readable_file_from(folder)

    def read(value: object) -> FeedFile:
        path = read_path(value)
        with path.open("rb") as file:
            addresses = feed_addresses(file.read(FILE_BYTES + 1))
        if addresses is None:
            raise ValueError("expected an OPML file, of at most 4 MiB: XML that begins with <opml>")
        if len(addresses) > MOST_WATCHED:
            raise ValueError(f"expected at most {MOST_WATCHED} feeds; this file has {len(addresses)}")
        return FeedFile.of(str(path), addresses)

    return read


def _normalised(address: str) -> str | None:
    """Return the URL as it names an object; None if it is none, or has characters that no URL has."""
    if not address.isascii() or not address.isprintable() or " " in address:
        return None
    try:
        return Target.parse(address).url
    except ValueError:
        return None
