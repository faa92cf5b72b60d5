"""Forgetting what was learnt of hosts before they came under passthrough."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

from bestbefore.addon.rules import HostPattern
from bestbefore.addon.store.backend.interface import UnwritableError
from bestbefore.addon.store.store import Store

logger = logging.getLogger(__name__)

AGAIN_S = 10.0
"""How long to wait where the store refuses to write, in real seconds."""


class PassedThrough:
    """The forgetting of hosts that are passed through: what was learnt of them before is removed, once.

    A file in the state directory keeps which patterns a store has forgotten, so that neither a change of the
    configuration while no proxy ran nor an end in the middle leaves anything behind, and no start looks through the
    store in vain. Its lines are a hash that stands for the store, a space, and a pattern.
    """

    def __init__(self, path: Path, store: Store, store_name: str) -> None:
        self._path = path
        self._store = store
        self._mark = hashlib.sha256(store_name.encode()).hexdigest()[:16]  # the name may hold a password
        self._work: asyncio.Task[None] | None = None

    def reconfigured(self, patterns: Sequence[HostPattern]) -> None:
        """Forget the hosts of these patterns: at the start and after each change.

        Does not wait, as the store may be down.
        """
        if self._work is not None:
            self._work.cancel()
        self._work = asyncio.create_task(self._forget([pattern.text for pattern in patterns]))

    async def close(self) -> None:
        """Stop; what is not forgotten by then is at the next start."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _forget(self, patterns: Sequence[str]) -> None:
        before = self._read()
        done = before.intersection(self._line(pattern) for pattern in patterns)
        if done != before:
            self._write(done)  # what is learnt of the others from now on is forgotten when they come back
        for pattern in patterns:
            if self._line(pattern) not in done:
                await self._forget_one(pattern)
                done.add(self._line(pattern))
                self._write(done)

    async def _forget_one(self, pattern: str) -> None:
        """Forget one pattern as soon as the store can be written to."""
        while True:
            try:
                count = await self._store.forget(pattern)
            except UnwritableError:  # said by those who write
                await asyncio.sleep(AGAIN_S)
            else:
                break
        if count:
            logger.info("%s is under passthrough: forgot %d object%s", pattern, count, "" if count == 1 else "s")

    def _line(self, pattern: str) -> str:
        return f"{self._mark} {pattern}"

    def _read(self) -> set[str]:
        try:
            return set(self._path.read_text("utf-8").splitlines())
        except (OSError, UnicodeDecodeError):
            return set()

    def _write(self, lines: set[str]) -> None:
        part = self._path.with_suffix(".part")
        try:
            part.write_text("".join(f"{line}\n" for line in sorted(lines)), "utf-8")
            part.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error.strerror)
