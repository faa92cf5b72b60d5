"""The sweep: removes unused objects, and purged data."""

import asyncio
from collections.abc import Callable

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, Commit, UnavailableError, UnwritableError, Versioned
from bestbefore.addon.store.backend.keys import label_of
from bestbefore.addon.store.cache.clock_check import ClockCheck
from bestbefore.addon.store.cache.gains import loss_of
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import log
from bestbefore.addon.store.cache.tombstones import TOMBSTONES_KEPT_S, Tombstones
from bestbefore.policies.units import DAY_S, HOUR_S

EVERY_S = HOUR_S
"""The interval between sweeps, in real seconds; with a fast clock at most a day of policy time. Of the proxies on a
backend one sweeps in each; if it ends, another does in the next."""
MIN_INTERVAL_S = 30.0

type IsOld = Callable[[Versioned], bool]


class Sweep:
    """Removes records and their counts, between the batches of the write-behind."""

    def __init__(self, link: Link, clock: Clock, writing: asyncio.Lock, tombstones: Tombstones, forget_after_s: float):
        """`writing` is locked during each write. `forget_after_s` is in policy time."""
        self._link = link
        self._clock = clock
        self._writing = writing
        self._tombstones = tombstones
        self._forget_after_s = forget_after_s
        self._clock_check = ClockCheck(clock)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        interval_s = max(MIN_INTERVAL_S, min(EVERY_S, self._clock.to_real_s(DAY_S)))
        while True:
            await self._link.up.wait()
            try:
                await self.once(interval_s)
            except UnavailableError as e:
                self._link.mark_down(e)
            except UnwritableError:  # reported by the write-behind; the next sweep tries again
                pass
            except Exception:  # a bug must not end the task
                log.exception("the store could not be swept: this is a bug in bestbefore")
            # A proxy that has started while another measures the size asks for it soon.
            await asyncio.sleep(MIN_INTERVAL_S if self._link.backend.size_bytes is None else interval_s)

    async def once(self, interval_s: float = 0.0) -> None:
        """Sweep now, unless a process on the backend has begun to within the interval, in real seconds.

        Each checks its clock. Raises UnavailableError, UnwritableError.
        """
        state = self._clock_check.check(await self._link.backend.clock_state())
        self._tombstones.trim(state.checked_at_s, steady=state.checked_at_s - state.steady_since_s >= TOMBSTONES_KEPT_S)
        await self._link.backend.put_clock_state(state)
        if not await self._link.backend.take_sweep(interval_s):
            return
        await self._link.backend.tidy()
        if not self._clock_check.is_trusted():
            log.debug("nothing is forgotten: the clock has not run without a leap for long enough")
            return
        oldest_s = state.checked_at_s - self._forget_after_s
        async for part in self._link.backend.recorded():
            old = [url for url, last_contact_s in part if last_contact_s < oldest_s]
            await self.forget(old, lambda found: found.record is not None and found.record.last_contact_s < oldest_s)

    async def forget(self, urls: list[str], is_old: IsOld) -> int:
        """Remove old records and their counts; return how many. Raises UnavailableError, UnwritableError."""
        forgotten = 0
        while urls:
            async with self._writing:
                urls, n = await self._forget_once(self._link.backend, urls, is_old)
            forgotten += n
        return forgotten

    @staticmethod
    async def _forget_once(backend: Backend, urls: list[str], is_old: IsOld) -> tuple[list[str], int]:
        """Try once to remove records; those that another proxy has written in between are left."""
        found = await backend.records(urls)
        commits = [
            Commit(url, known.version, None, {label_of(known.record): loss_of(known.record)})
            for url, known in zip(urls, found, strict=True)
            if known.record is not None and is_old(known)
        ]
        answers = await backend.commit(commits)
        left = [c.url for c, answer in zip(commits, answers, strict=True) if isinstance(answer, Versioned)]
        return left, len(commits) - len(left)

