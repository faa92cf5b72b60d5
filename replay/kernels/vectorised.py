"""The kernel for machines without numba, for whole arrays of contacts at once: twin of `compiled`.

A contact is known only from the one before it, so that those of one stream must be found one after another, but those
of many streams at once. A long stream is therefore cut: as if there were a contact at the first request of each cut, it
is followed from there. Walks from different cuts soon meet, and what has been walked once is not walked again. In the
end the true contacts are picked out by following each stream from its beginning; what was walked in vain is left.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import FloatArray
from bestbefore.replay.kernels import walk
from bestbefore.replay.kernels.expiries import IndexArray, expiries_s, first_after, first_at_or_after
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.rule import Rule
from bestbefore.replay.traces.columns import IdArray

REQUESTS_AT_ONCE = 1 << 20
REQUESTS_PER_CUT = 512
FEWEST_AT_ONCE = 8
"""Of fewer contacts, one at a time is faster than an array of them."""


def replay(
    times_s: FloatArray,
    firsts: IndexArray,
    object_ids: IdArray,
    begin: int,
    end: int,
    known: Histories,
    rule: Rule,
    counts: NDArray[np.int64],
    decisions: FloatArray,
) -> int:
    """As `walk.replay`, without its last argument."""
    here, stop = int(firsts[begin]), int(firsts[end])
    firsts, object_ids = firsts[begin : end + 1], object_ids[begin:end]
    decided = 0
    for start in range(here, stop, REQUESTS_AT_ONCE):
        window = _Window(times_s, firsts, object_ids, known, rule, start, min(start + REQUESTS_AT_ONCE, stop))
        window.guess(here)
        contacts, here = window.contacts(here)
        window.count(contacts, counts)
        expiries = window.expiries_s[contacts - start]
        needed = np.flatnonzero(~np.isnan(expiries))
        if len(decisions):
            decisions[decided : decided + len(needed), 0] = times_s[contacts[needed]]
            decisions[decided : decided + len(needed), 1] = expiries[needed]
        decided += len(needed)
    return decided


class _Window:
    """The requests from `start` up to `end`, and what has been found of contacts among them.

    Requests, streams and updates go by their numbers. A stream may begin before the window and end after it.
    """

    def __init__(
        self,
        times_s: FloatArray,
        firsts: IndexArray,
        object_ids: IdArray,
        known: Histories,
        rule: Rule,
        start: int,
        end: int,
    ) -> None:
        self.times_s, self.firsts, self.object_ids = times_s, firsts, object_ids
        self.known, self.rule = known, rule
        self.start, self.end = start, end
        self.nexts = np.zeros(end - start, dtype=np.int64)
        """Of each request that was followed as a contact, how far after `start` the next contact of its stream lies, or
        the end of the stream; else 0."""
        self.expiries_s = np.empty(end - start)
        """Its expiry; NaN where no request of its stream follows."""
        self.by_bin = walk.ByBin.empty()
        self.seen = np.empty(end - start, dtype=np.int64)
        """The first update of its object after it."""

    def guess(self, first: int) -> None:
        """Follow the streams from where they begin, from `first`, and from each cut, as long as it is worth it."""
        begins = self.firsts[slice(*self.firsts.searchsorted((self.start, self.end)))]
        cuts = np.arange(self.start, self.end, REQUESTS_PER_CUT)
        here = np.unique(np.concatenate((begins, cuts, [min(first, self.end - 1)])))
        stream = self._streams_of(here)
        updates_s, first_update, last_update = self._updates_of(stream)
        seen = first_after(updates_s, first_update, last_update, self.times_s[here])
        claims = np.empty(self.end - self.start, dtype=np.int64)
        while len(here) >= FEWEST_AT_ONCE:
            there = self._follow(here, stream, seen)
            on = (there < self.firsts[stream + 1]) & (there < self.end)
            here, stream, seen = there[on], stream[on], seen[on]
            # Walks that have met go on as one, and end where another has been before.
            claims[here - self.start] = np.arange(len(here))
            on = (claims[here - self.start] == np.arange(len(here))) & (self.nexts[here - self.start] == 0)
            here, stream, seen = here[on], stream[on], seen[on]
            seen = first_after(updates_s, seen, self._updates_of(stream)[2], self.times_s[here])

    def contacts(self, first: int) -> tuple[IndexArray, int]:
        """The true contacts, of which `first` is the first, and the first after the window."""
        nexts = memoryview(self.nexts)
        places = []
        place, end = first - self.start, self.end - self.start
        while place < end:
            places.append(place)
            place = nexts[place] or self._follow_one(place)
        return np.array(places, dtype=np.int64) + self.start, place + self.start

    def count(self, contacts: IndexArray, counts: NDArray[np.int64]) -> None:
        """Add what comes of these contacts and of the requests up to the next ones."""
        there, seen = self.nexts[contacts - self.start] + self.start, self.seen[contacts - self.start]
        stream = self._streams_of(contacts)
        updates_s, _, last_update = self._updates_of(stream)
        change_s = np.where(seen < last_update, updates_s[seen], math.inf)
        hits = there - contacts - 1
        stale_hits = np.zeros_like(hits)
        some = np.flatnonzero((hits > 0) & (change_s <= self.times_s[there - 1]))
        stale_hits[some] = there[some] - first_at_or_after(
            self.times_s, contacts[some] + 1, there[some], change_s[some]
        )
        validations = there < self.firsts[stream + 1]
        unnecessary = validations.copy()
        unnecessary[validations] = change_s[validations] > self.times_s[there[validations]]
        columns = (contacts == self.firsts[stream], hits, stale_hits, validations, unnecessary)
        rows = self.object_ids[stream] - self.object_ids[0]
        for k, column in enumerate(columns):
            if len(counts) > 1:
                np.add.at(counts[:, k], rows, column)
            else:
                counts[0, k] += column.sum()

    def _follow(self, here: IndexArray, stream: IndexArray, seen: IndexArray) -> IndexArray:
        """What would come next if there were contacts here."""
        stop = self.firsts[stream + 1]
        expiries, there = np.full(len(here), math.nan), stop.copy()
        needed = np.flatnonzero(here + 1 < stop)
        expiries[needed] = expiries_s(
            self.rule, self.known, self.object_ids[stream[needed]], seen[needed], self.times_s[here[needed]]
        )
        there[needed] = first_at_or_after(self.times_s, here[needed] + 1, stop[needed], expiries[needed])
        place = here - self.start
        self.nexts[place], self.expiries_s[place], self.seen[place] = there - self.start, expiries, seen
        return there

    def _follow_one(self, place: int) -> int:
        """The same for one, `place` after `start`; so is what is returned."""
        here = self.start + place
        stream = int(self.firsts.searchsorted(here, side="right")) - 1
        object_, stop, t = int(self.object_ids[stream]), int(self.firsts[stream + 1]), float(self.times_s[here])
        first, last = walk.updates_of(self.known.objects, self.known.history_of[object_])
        seen = walk.first_after(self.known.objects.times_s, first, last, t)
        expiry, there = math.nan, stop
        if here + 1 < stop:
            expiry = walk.expiry_s(self.rule, self.known, object_, seen, t, self.by_bin)
            there = walk.first_at_or_after(self.times_s, here + 1, stop, expiry)
        self.nexts[place], self.expiries_s[place], self.seen[place] = there - self.start, expiry, seen
        return there - self.start

    def _streams_of(self, requests: IndexArray) -> IndexArray:
        return self.firsts.searchsorted(requests, side="right") - 1

    def _updates_of(self, stream: IndexArray) -> tuple[FloatArray, IndexArray, IndexArray]:
        """The times of all updates, and of the object of each stream its first and the first after it."""
        owners = self.known.history_of[self.object_ids[stream]]
        objects = self.known.objects
        return objects.times_s, objects.firsts[owners], objects.firsts[owners + 1]
