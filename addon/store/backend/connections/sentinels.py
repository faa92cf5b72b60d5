"""Sentinels, which know the primary of a service."""

from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff


async def find_primary(
    sentinels: Sequence[tuple[str, int]], service: str, options: Mapping[str, Any]
) -> tuple[str, int]:
    """Return the host and port of a service's primary, as the first of some sentinels has it that answers.

    `options`: of redis-py for the connection to the server; sentinels are asked with the same times and TLS, and
    without user and password. Raises the errors of redis-py.
    """
    own = {name: value for name, value in options.items() if name.startswith(("socket_", "ssl_"))}
    if "connection_class" in options:  # that of TLS
        own["ssl"] = True
    own["retry"] = Retry(NoBackoff(), 0)
    asked: Any = Sentinel(sentinels, sentinel_kwargs=own)  # type: ignore[no-untyped-call]
    try:
        host, port = await asked.discover_master(service)
    finally:
        for sentinel in asked.sentinels:
            await sentinel.aclose()
    return host, int(port)
