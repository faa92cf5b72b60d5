"""The traffic log of a running proxy: requests are gathered, and written by a thread a moment later."""

import asyncio
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import TrafficClients
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.cache.tombstones import TOMBSTONES_KEPT_S, matcher_of
from bestbefore.addon.traffic.files import DAY_S, LoggedRequest, TrafficFiles
from bestbefore.policies.units import HOUR_S

GATHER_S = 0.5
"""How long lines are gathered. A killed proxy loses the lines of this time and of the time of a write."""
WAITING_LIMIT = 50_000
"""How many requests may be pending; further ones are dropped."""
TIDY_EVERY_S = HOUR_S
"""How often old files are removed, in real seconds; with a fast clock at least once a day of policy time."""

_SERVED = frozenset((Outcome.HIT, Outcome.VALIDATED, Outcome.STALE))
"""The outcomes of requests that are answered from the store."""

_logger = logging.getLogger(__name__)


def is_traffic(answered: Answered) -> bool:
    """Whether a request is logged: a GET of a client that was answered from the store, or whose response was stored.

    Requests with Cookie or Authorization are not logged: the URL may be that of a personal page, and learned lifetimes
    do not apply to it.
    """
    return (
        (answered.outcome in _SERVED or answered.stored)
        and answered.method == "GET"
        and not answered.personal
        and not answered.background
    )


def client_names(clients: TrafficClients, salt: bytes) -> Callable[[str], str]:
    """Return the function that turns a client's address into the name to be logged.

    With `hash` this is a keyed hash. The address cannot be found from it without the salt.
    """
    if clients == "address":
        return lambda address: address
    if clients == "none":
        return lambda _: ""

    @lru_cache(maxsize=4096)
    def name(address: str) -> str:
        return hashlib.blake2b(address.encode(), key=salt[:64], person=b"traffic log", digest_size=8).hexdigest()

    return name


class TrafficLog:
    """The log of requests, which are kept for `keep_s`; those of forgotten objects are removed.

    The same applies to the files of a log that is no longer written (`writes` is false).
    """

    def __init__(
        self, files: TrafficFiles, clock: Clock, name_client: Callable[[str], str], keep_s: float, *, writes: bool
    ) -> None:
        """`keep_s` is in policy time. `writes`: whether requests are logged."""
        self._files = files
        self._clock = clock
        self._name_client = name_client
        self._keep_s = keep_s
        self._writes = writes
        self._waiting: list[Answered] = []
        self._left_out = 0
        self._failing = False
        self._tombstones: dict[Tombstone, Callable[[str], bool]] = {}
        """The tombstones that forget objects, with their matchers."""
        self._unapplied: set[Tombstone] = set()
        self._tidied_at_s = -float("inf")
        """When old files were last removed, by the monotonic clock."""
        self._turning = asyncio.Lock()
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # Called by the proxy

    def add(self, answered: Answered) -> None:
        """Log a request if `is_traffic`. Never raises and never waits."""
        if not self._writes or not is_traffic(answered):
            return
        if len(self._waiting) >= WAITING_LIMIT:
            self._left_out += 1
            return
        self._waiting.append(answered)
        if len(self._waiting) == 1:
            self._work.set()

    def forget(self, tombstone: Tombstone) -> None:
        """Forget the requests for the objects of a tombstone up to its time, logged or still in progress.

        Raises ValueError for a pattern that cannot be read.
        """
        if tombstone not in self._tombstones:
            self._tombstones[tombstone] = matcher_of(tombstone)
            self._unapplied.add(tombstone)
            self._work.set()

    # Start and stop

    def start(self) -> None:
        """Start removing old files and writing requests."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, and write the pending requests."""
        if self._task is not None:
            async with self._turning:  # not in the middle of a turn
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.turn()

    async def _run(self) -> None:
        while True:
            await self.turn()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._tidy_every_s):
                    await self._work.wait()
            self._work.clear()
            await asyncio.sleep(GATHER_S)

    @property
    def _tidy_every_s(self) -> float:
        return max(1.0, min(TIDY_EVERY_S, self._clock.to_real_s(DAY_S)))

    async def turn(self) -> None:
        """Remove forgotten requests and old files, and write the pending requests."""
        async with self._turning:
            await self._turn()

    async def _turn(self) -> None:
        answered, self._waiting = self._waiting, []
        forgetting = [(t, self._tombstones[t]) for t in self._unapplied]
        now_s, monotonic_s = self._clock.now(), self._clock.monotonic()
        is_tidied = monotonic_s - self._tidied_at_s < self._tidy_every_s
        try:
            for tombstone, matches in forgetting:
                await asyncio.to_thread(self._files.forget, matches, tombstone.time_s)
                self._unapplied.discard(tombstone)
            if not is_tidied:
                await asyncio.to_thread(self._files.remove_before, now_s - self._keep_s)
                self._tidied_at_s = monotonic_s
                self._trim_tombstones(now_s - TOMBSTONES_KEPT_S)
            await asyncio.to_thread(self._append, answered, list(self._tombstones.items()))
        except OSError as error:
            self._left_out += len(answered)
            if not self._failing:
                _logger.warning("the traffic log cannot be written: %s; requests are not logged", error.strerror)
            self._failing = True
        except Exception:  # a bug must not end all logging
            _logger.exception("the traffic log could not be written: this is a bug in bestbefore")
        else:
            if self._left_out:
                _logger.warning("the traffic log is written again; %d requests are missing in it", self._left_out)
            self._failing, self._left_out = False, 0

    def _trim_tombstones(self, oldest_s: float) -> None:
        """Remove tombstones from so long ago that all requests from before them have been answered."""
        self._tombstones = {
            t: matches for t, matches in self._tombstones.items() if t.time_s >= oldest_s or t in self._unapplied
        }

    def _append(self, answered: list[Answered], tombstones: list[tuple[Tombstone, Callable[[str], bool]]]) -> None:
        """Append lines, in a thread; none for a request that came before its object was forgotten."""
        self._files.append(
            self._logged(entry)
            for entry in answered
            if not any(entry.time_s <= tombstone.time_s and matches(entry.url) for tombstone, matches in tombstones)
        )

    def _logged(self, answered: Answered) -> LoggedRequest:
        client = self._name_client(answered.client)
        size, status = answered.sent_bytes, answered.status
        return LoggedRequest(answered.time_s, client, answered.url, size, status, answered.outcome, answered.reason)
