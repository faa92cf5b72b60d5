"""Removes what was learnt of hosts before they were configured for passthrough."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

from bestbefore.addon.rules import HostPattern
from bestbefore.addon.store.backend.interface import UnwritableError
from bestbefore.addon.store.store import Store

logger = logging.getLogger(__name__)

REMOVED_FILE = "passthrough"
"""The file in the state folder that lists what was removed."""

RETRY_S = 10.0
"""How long to wait before the next attempt if the store refuses writes, in real seconds."""


class PassthroughCleanup:
    """Removes copies and histories of passthrough hosts from the store, once for each pattern.

    A file in the state directory lists the patterns that were removed from each store. So removal is complete even if
    the configuration changed while no proxy ran, or the proxy stopped half-way, and a start does not scan the store
    again. Each line has a hash of the store's name, a space, and a pattern.
    """

    def __init__(self, path: Path, store: Store, store_name: str) -> None:
        self._path = path
        self._store = store
        self._mark = _mark(store_name)
        self._work: asyncio.Task[None] | None = None

    def reconfigured(self, patterns: Sequence[HostPattern]) -> None:
        """Start to remove the hosts of these patterns; called at the start and after each change.

        Does not wait, as the store may be down.
        """
        if self._work is not None:
            self._work.cancel()
        self._work = asyncio.create_task(self._forget([pattern.text for pattern in patterns]))

    async def close(self) -> None:
        """Stop. The remaining patterns are removed at the next start."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _forget(self, patterns: Sequence[str]) -> None:
        before = _read(self._path)
        forgotten = before.intersection(self._line(pattern) for pattern in patterns)
        if forgotten != before:
            self._write(forgotten)  # patterns that are gone are removed again if they return
        for pattern in patterns:
            if self._line(pattern) not in forgotten:
                await self._forget_one(pattern)
                forgotten.add(self._line(pattern))
                self._write(forgotten)

    async def _forget_one(self, pattern: str) -> None:
        """Remove the hosts of one pattern as soon as the store accepts writes."""
        logger.warning("%s is under passthrough now: its copies and histories are removed", pattern)
        while True:
            try:
                count = await self._store.forget(pattern)
            except UnwritableError:  # reported by the store
                await asyncio.sleep(RETRY_S)
            else:
                break
        if count:
            logger.info("%s is under passthrough: forgot %d object%s", pattern, count, "" if count == 1 else "s")

    def _line(self, pattern: str) -> str:
        return f"{self._mark} {pattern}"

    def _write(self, lines: set[str]) -> None:
        part = self._path.with_suffix(".part")
        try:
            part.write_text("".join(f"{line}\n" for line in sorted(lines)), "utf-8")
            part.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error.strerror)


def not_removed(path: Path, store_name: str, patterns: Sequence[HostPattern]) -> list[str]:
    """Return the patterns whose hosts a proxy with this file will remove from its store when it starts."""
    removed = _read(path)
    return [pattern.text for pattern in patterns if f"{_mark(store_name)} {pattern.text}" not in removed]


def _mark(store_name: str) -> str:
    return hashlib.sha256(store_name.encode()).hexdigest()[:16]  # the name may hold a password


def _read(path: Path) -> set[str]:
    try:
        return set(path.read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()
