"""The sums by which the prices of groups are controlled: counted in process, and added to the store in batches.

The sums are whole numbers by period, so each process adds what it has counted since its last batch, and the sums in the
store are those of all proxies, in whatever order these write.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.cache.faults import Faults, short
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.counts.pending_sums import PendingSums
from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import SUMS, GroupSums

READ_AGAIN_S = 10.0
"""After how many real seconds the sums of a group are read again, to include what other proxies counted."""
GROUPS_KEPT = 1024
"""Of how many groups the sums are cached."""
MAX_WAITING = 4096
"""Of how many groups sums may be pending; beyond it only theirs are counted."""

type Sums = dict[int, list[int]]
"""The sums of a group by period since the epoch (`machinery.control`)."""


@dataclass(slots=True)
class _Known:
    """The cached sums of a group, those pending included."""

    sums: GroupSums
    read_at_s: float
    """By the monotonic clock."""


class StaleCounts:
    """The sums of groups. A batch whose reply is lost is written again, and so counts twice."""

    def __init__(self, link: Link, faults: Faults, monotonic: Callable[[], float]) -> None:
        self._link = link
        self._faults = faults
        self._monotonic = monotonic
        self._known: LRUCache[str, _Known] = LRUCache(GROUPS_KEPT)
        self._pending = PendingSums[str, Sums](monotonic, MAX_WAITING, _joined)

    def count_hits(self, copy: Copy, times_s: Sequence[float]) -> int:
        """Count hits of a copy; return the stale hits that are predicted, in millionths."""
        if copy.control is None:
            return 0
        all_predicted = 0
        for t in times_s:
            predicted = control.predicted_stale(copy.control.updates_per_s, t - copy.current_s)
            all_predicted += predicted
            self._add(copy.control_group, t, control.of_hits(copy.control, 1, predicted))
        return all_predicted

    def count_validation(self, copy: Copy, t: float, predicted: int, *, changed: bool, requested: bool) -> None:
        """Count the contact that ended a copy, for which so many stale hits, in millionths, had been predicted.

        `requested`: whether a client requested it, as in a validation, or no client, as in a prefetch.
        """
        if copy.control is None:
            return
        amounts = control.of_validation(copy.control, t - copy.current_s, predicted, changed)
        self._add(copy.control_group, t, amounts if requested else (0, 0, *amounts[2:]))

    async def of(self, group: str, t: float) -> Sequence[Sequence[int]]:
        """Return the sums of a group at all proxies, the period of t first; while the store is down, those known."""
        known = self._known.get(group)
        if known is None or known.read_at_s < self._monotonic() - READ_AGAIN_S:
            known = await self._read(group, control.period_of(t), known)
        known.sums.begin(control.period_of(t))
        return known.sums.rows

    async def _read(self, group: str, period: int, known: _Known | None) -> _Known:
        stored = await self._pending.beside(lambda: self._link.read(lambda backend: backend.stale_sums(group)))
        if stored is None and known is not None:
            known.read_at_s = self._monotonic()
            return known
        sums = GroupSums()
        for found in (stored or {}, self._pending.by_key.get(group, {})):
            for one in sorted(found):
                if one <= period + 1:  # a clock was ahead
                    sums.add(one, found[one])
        known = self._known[group] = _Known(sums, self._monotonic())
        return known

    def _add(self, group: str, t: float, amounts: Sequence[int]) -> None:
        period = control.period_of(t)
        known = self._known.get(group)
        if known is not None:
            known.sums.add(period, amounts)
        if self._pending.has_room(group):
            _add(self._pending.by_key.setdefault(group, {}), period, amounts)

    @property
    def waiting(self) -> int:
        """The number of groups with pending sums."""
        return len(self._pending.by_key)

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any sum pending now is still pending. They become due at once."""
        return self._pending.snapshot()

    async def write(self, backend: Backend) -> None:
        """Add all that is pending, if it is due. Raises UnavailableError, UnwritableError; it remains pending then."""
        await self._pending.write(backend.add_stale_sums, self._drop)

    def _drop(self, group: str, error: Exception) -> None:
        self._faults.add("stale_hits", f"the stale hits of {short(group)} cannot be written to the store: {error}")


def _joined(one: Sums, other: Sums) -> Sums:
    for period, amounts in other.items():
        _add(one, period, amounts)
    return one


def _add(sums: Sums, period: int, amounts: Sequence[int]) -> None:
    before = sums.get(period, [0] * SUMS)
    sums[period] = [a + b for a, b in zip(before, amounts, strict=True)]
