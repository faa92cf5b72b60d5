"""The sweep: it forgets objects that are not used, and removes what was purged."""

import asyncio
from collections.abc import Callable

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, Commit, UnavailableError, UnwritableError, Versioned
from bestbefore.addon.store.cache.gains import loss_of
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import log
from bestbefore.addon.store.cache.steady import Steadiness
from bestbefore.addon.store.cache.tombstones import TOMBSTONES_KEPT_S, Tombstones
from bestbefore.policies.units import DAY_S, HOUR_S

EVERY_S = HOUR_S
"""How often the backend is swept, in real seconds; under a fast clock at least once a day of policy time."""
LEAST_S = 30.0

type IsOld = Callable[[Versioned], bool]


class Sweep:
    """Removes records, with what they gave the counts, between the batches that are written."""

    def __init__(self, link: Link, clock: Clock, writing: asyncio.Lock, tombstones: Tombstones, forget_after_s: float):
        """`writing`: held while anything is being written. `forget_after_s` is in policy time."""
        self._link = link
        self._clock = clock
        self._writing = writing
        self._tombstones = tombstones
        self._forget_after_s = forget_after_s
        self._steadiness = Steadiness(clock)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._link.up.wait()
            try:
                await self.once()
            except UnavailableError as e:
                self._link.mark_down(e)
            except UnwritableError:  # said by those who write; it will be tried again
                pass
            except Exception:  # a bug must not be the end of all sweeping
                log.exception("the store could not be swept: this is a bug in bestbefore")
            await asyncio.sleep(max(LEAST_S, min(EVERY_S, self._clock.to_real_s(DAY_S))))

    async def once(self) -> None:
        """Sweep now. Raises UnavailableError, UnwritableError."""
        look = self._steadiness.look(await self._link.backend.last_look())
        self._tombstones.trim(look.looked_s, steady=look.looked_s - look.steady_s >= TOMBSTONES_KEPT_S)
        await self._link.backend.tidy()
        await self._link.backend.keep_look(look)
        if not self._steadiness.is_trusted():
            log.debug("nothing is forgotten: the clock has not run without a leap for long enough")
            return
        oldest_s = look.looked_s - self._forget_after_s
        async for part in self._link.backend.recorded():
            old = [url for url, last_contact_s in part if last_contact_s < oldest_s]
            await self.forget(
                old, lambda found: found.record is not None and found.record.last_contact_s < oldest_s
            )

    async def forget(self, urls: list[str], is_old: IsOld) -> int:
        """Remove those records that are old, and what they gave the counts. How many. Raises UnavailableError..."""
        forgotten = 0
        while urls:
            async with self._writing:
                urls, n = await self._forget_once(self._link.backend, urls, is_old)
            forgotten += n
        return forgotten

    @staticmethod
    async def _forget_once(backend: Backend, urls: list[str], is_old: IsOld) -> tuple[list[str], int]:
        """Try once to forget these records; those that another proxy wrote meanwhile are left."""
        found = await backend.records(urls)
        commits = [
            Commit(url, known.version, None, loss_of(known.record))
            for url, known in zip(urls, found, strict=True)
            if known.record is not None and is_old(known)
        ]
        answers = await backend.commit(commits)
        left = [c.url for c, answer in zip(commits, answers, strict=True) if isinstance(answer, Versioned)]
        return left, len(commits) - len(left)

