"""The division of a process's file descriptors among their uses, so that no use exhausts them."""

import resource
from contextlib import suppress

TARGET_LIMIT = 65_536
"""The limit to request from the system. A higher one is useless, as each connection needs memory too."""
RESERVED = 48
"""Reserved for the store, the log, the admin address and short-lived files."""
MIN_PART = 8
USES = 5


def part_of(limit: int) -> int:
    """Return how many file descriptors each use may take: an equal part of the process's limit (RLIMIT_NOFILE).

    The uses: connections of clients; requests in progress, each of which may read a stored file; files with content in
    flight (`budget.Budget`); connections of `proxy.origin` to origins, in use or idle; and connections that mitmproxy
    opens to origins, for tunnels and upgrades.
    """
    return max(MIN_PART, (limit - RESERVED) // USES)


def raised_limit() -> int:
    """Raise the process's limit on descriptors towards `TARGET_LIMIT`, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = TARGET_LIMIT if hard == resource.RLIM_INFINITY else min(hard, TARGET_LIMIT)
    if soft != resource.RLIM_INFINITY and soft < target:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return TARGET_LIMIT if soft == resource.RLIM_INFINITY else min(soft, TARGET_LIMIT)
