"""Formats values of the configuration for people, in the forms in which a file has them."""

from collections.abc import Mapping
from typing import Any

from bestbefore.addon.config.problems import printable
from bestbefore.policies.validation.machinery.spec import duration_text

_WHEN_NONE: Mapping[str, str] = {
    "workers": "one for each core, at most 4",
    "mode": "forward",
    "admin": "off",
    "admin_credentials": "none: the dashboard is for this machine",
    "store_max": "a quarter of the memory, at most 1GiB",
    "stale_if_down": "off",
    "allow_clients": "loopback only, or any with credentials",
    "credentials": "none asked for",
    "log_file": "standard output",
    "log_keep": "not rotated by the proxy",
}
_NUMBERS = frozenset({"workers", "connections_per_host"})
"""Keys whose whole numbers are no sizes."""


def value_text(key: str, value: object) -> str:
    """Return the value of a key, or what it means that there is none.

    >>> value_text("keep", 604800.0), value_text("files_max", 8 << 30), value_text("workers", 2)
    ('7d', '8GiB', '2')
    >>> value_text("workers", None), value_text("passthrough", ()), value_text("offline", False)
    ('one for each core, at most 4', 'none', 'false')
    """
    match value:
        case None:
            return _WHEN_NONE.get(key, "none")
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if key in _NUMBERS else _size_text(value)
        case float():
            return duration_text(value)
        case str():
            return printable(value).strip('"')
        case frozenset():
            return ", ".join(map(str, sorted(value))) or "none"
        case tuple():
            return ", ".join(map(str, value)) or "none"
        case _:
            return f"reverse:{value}" if key == "mode" else str(value)


def limit_text(key: str, value: Any) -> str:
    """Return the value of a key that limits background fetches."""
    if key == "prefetch":
        return {"asked": "true", "always": "always", "never": "false"}[value]
    return f"{value:g}" if key in ("weight", "prefetch_theta") else value_text(key, value)


def _size_text(size: int) -> str:
    for unit, unit_bytes in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size and size % unit_bytes == 0:
            return f"{size // unit_bytes}{unit}"
    return f"{size} bytes"
