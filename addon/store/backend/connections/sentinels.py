"""Sentinels, which know the primary of a service."""

from collections.abc import Mapping, Sequence
from typing import Any

import redis.exceptions as errors
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from bestbefore.addon.store.backend.interface import StoreInputError


async def find_primary(
    sentinels: Sequence[tuple[str, int]], service: str, user: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[str, int]:
    """Return the host and port of a service's primary, as the first of some sentinels has it that answers.

    `user`: `username` and `password` for the sentinels, if they have any. `options`: of redis-py for the connection to
    the server; sentinels are asked with the same times and TLS. Raises the errors of redis-py, and StoreInputError if
    no sentinel knows the service and one refuses the user or password.
    """
    own = {name: value for name, value in options.items() if name.startswith(("socket_", "ssl_"))}
    if "connection_class" in options:  # that of TLS
        own["ssl"] = True
    own |= user
    own["retry"] = Retry(NoBackoff(), 0)
    asked: Any = Sentinel(sentinels, sentinel_kwargs=own)  # type: ignore[no-untyped-call]
    failures, is_refused = list[str](), False
    try:
        # As `Sentinel.discover_master` does, which has the errors of sentinels only as a text.
        for (host, port), sentinel in zip(sentinels, asked.sentinels, strict=True):
            try:
                primary = (await sentinel.sentinel_masters()).get(service)
            except (errors.RedisError, OSError) as error:
                is_refused |= isinstance(error, errors.AuthenticationError | errors.NoPermissionError)
                failures.append(f"{host}:{port}: {error}")
                continue
            if primary is not None and asked.check_master_state(primary, service):
                return primary["ip"], int(primary["port"])
            failures.append(f"{host}:{port} knows no primary that is up")
    finally:
        for sentinel in asked.sentinels:
            await sentinel.aclose()
    text = f"no sentinel has the primary of {service!r} ({'; '.join(failures)})"
    if is_refused:
        raise StoreInputError(f"{text}; expected the sentinels' own sentinel_username and sentinel_password")
    raise errors.ConnectionError(text)
