"""The division of a process's file descriptors among their uses, so that no use exhausts them."""

import resource
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

TARGET_LIMIT = 65_536
"""The limit to request from the system. A higher one is useless, as each connection needs memory too."""
RESERVED = 48
"""Reserved for the store, the log, the admin address and short-lived files."""
MIN_PART = 8


@dataclass(frozen=True, slots=True)
class Descriptors:
    """How many file descriptors each use may take. Each process has its own descriptors."""

    limit: int
    """The limit of the process (RLIMIT_NOFILE)."""
    clients: int
    """Connections of clients."""
    exchanges: int
    """Requests in progress, each of which may read a stored file."""
    files: int
    """Files with content in flight (`budget.Budget`)."""
    origins: int
    """Connections of `proxy.origin` to origins, in use or idle."""
    tunnels: int
    """Connections that mitmproxy opens to origins: for tunnels and upgrades."""

    @classmethod
    def of(cls, limit: int) -> Self:
        """Divide a limit."""
        part = max(MIN_PART, (limit - RESERVED) // 5)
        return cls(limit, part, part, part, part, part)


def raised_limit() -> int:
    """Raise the process's limit on descriptors towards `TARGET_LIMIT`, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = TARGET_LIMIT if hard == resource.RLIM_INFINITY else min(hard, TARGET_LIMIT)
    if soft != resource.RLIM_INFINITY and soft < target:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return TARGET_LIMIT if soft == resource.RLIM_INFINITY else min(soft, TARGET_LIMIT)
