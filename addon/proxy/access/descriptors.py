"""The division of the file descriptors of a process among its uses, so that no use takes the last."""

import resource
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

WANTED = 65_536
"""So many are asked for, if the system gives them: a connection costs memory too."""
RESERVED = 48
"""Kept for the store, the log, the admin address and what is open for a moment."""
SMALLEST = 8


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The parts. Where several processes serve, each has descriptors, and so parts, of its own."""

    limit: int
    """Of the process (RLIMIT_NOFILE)."""
    clients: int
    """Connections of clients."""
    exchanges: int
    """Requests under way, each of which may read a stored file."""
    files: int
    """Content in flight that is in a file (`budget.Budget`)."""
    origins: int
    """Connections to origins of our own fetch, in use or kept for reuse."""
    tunnels: int
    """Connections to origins that mitmproxy opens for clients: for uploads, tunnels and upgrades."""

    @classmethod
    def of(cls, limit: int) -> Self:
        """Divide a limit of so many descriptors."""
        part = max(SMALLEST, (limit - RESERVED) // 5)
        return cls(limit, part, part, part, part, part)


def raised_limit() -> int:
    """Raise the limit of descriptors to the hard limit of the process, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return WANTED if soft == resource.RLIM_INFINITY else min(soft, WANTED)
