"""How many processes serve an address where the configuration does not say it."""

import os
from contextlib import suppress
from pathlib import Path

MOST_BY_DEFAULT = 4
"""A process takes 20 to 50 MB and its `hot_max`: more are for those who ask for them."""
_SYSTEM = Path("/")


def default_workers(system: Path = _SYSTEM) -> int:
    """Return the number of cores that this process may use, at most `MOST_BY_DEFAULT`.

    `system`: where `/proc` and `/sys` are.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_BY_DEFAULT, _quota(system)))


def _quota(system: Path) -> int:
    """Return how many whole cores the control groups of this process allow, as containers and services have them."""
    allowed = MOST_BY_DEFAULT
    with suppress(OSError, ValueError, IndexError):
        line = (system / "proc/self/cgroup").read_text().splitlines()[-1]  # version 2 has one: `0::/PATH`
        root = system / "sys/fs/cgroup"
        group = root / line.split(":", 2)[2].strip("/")
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):
                quota, period = (folder / "cpu.max").read_text().split()
                if quota != "max":
                    allowed = min(allowed, int(quota) // int(period))
            if folder == root:
                break
    return allowed
