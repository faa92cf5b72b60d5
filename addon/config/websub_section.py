"""The parser of [websub]."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bestbefore.addon.config import values
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.settings import Address
from bestbefore.addon.config.values import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSubSettings:
    """The settings of [websub]: each field is the key of the same name; the values are the defaults."""

    listen: Address | None = None
    """Where hubs reach the proxy."""
    callback_url: str | None = None
    """The URL by which they do, without a final slash."""

    @property
    def enabled(self) -> bool:
        """Whether the proxy subscribes to hubs."""
        return self.listen is not None


def read_websub(table: Mapping[str, object], problems: Problems) -> WebSubSettings:
    """Parse the settings; malformed keys take the default."""
    read = problems.read_keys(("websub",), table, _READERS)
    if len({"listen", "callback_url"} & table.keys()) == 1:
        missing = "callback_url" if "listen" in table else "listen"
        problems.add(("websub",), f"{missing} is missing: hubs need both, where the proxy listens and by which URL")
        return WebSubSettings()
    return WebSubSettings(**read) if len(read) == len(_READERS) else WebSubSettings()


def _callback_url(value: object) -> str:
    parts = urlsplit(value) if isinstance(value, str) and value.isascii() and value.isprintable() else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError('expected the URL by which hubs reach `listen`, such as "https://proxy.example.org/websub"')
    if parts.username or parts.query or parts.fragment or " " in parts.geturl():
        raise ValueError("expected a URL without user, query and fragment")
    return parts.geturl().rstrip("/")


_READERS: Mapping[str, Reader[Any]] = {"listen": values.address, "callback_url": _callback_url}
WEBSUB_KEYS = tuple(_READERS)
