"""The kernel for machines without numba, for whole arrays of contacts at once: twin of `compiled`.

A contact is known only from the one before it, so that those of one stream must be found one after another, but those
of many streams at once: all streams are followed together, until few are left. These are cut: as if there were a
contact at the first request of each cut, they are followed from there. Walks from different cuts soon meet, and what
has been walked once is not walked again. In the end the true contacts are picked out by following each stream from
where it was left; what was walked in vain is dropped.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import FloatArray
from bestbefore.replay.kernels import deciding, lookup, walk
from bestbefore.replay.kernels.expiries import bound, expiries_s
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.intervals import kept_expiries_s
from bestbefore.replay.kernels.lookup_vectorised import IndexArray, first_after, first_at_or_after
from bestbefore.replay.kernels.rule import Rule
from bestbefore.replay.traces.columns import IdArray

FEWEST_STREAMS = 1024
"""With fewer, walks in vain cost less than short arrays do."""
REQUESTS_AT_ONCE = 1 << 20
REQUESTS_PER_CUT = 128
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
    streams = _Streams(times_s, firsts[begin + 1 : end + 1], object_ids[begin:end], known, rule, counts)
    contacts = streams.missed(firsts[begin:end])
    fewest = FEWEST_AT_ONCE if rule.keeps_interval else FEWEST_STREAMS
    decided = _Decided(len(decisions) > 0)
    while len(contacts):
        if len(contacts) >= fewest:
            there, expiries = streams.follow(contacts)
            following = streams.after(contacts, there)
        elif rule.keeps_interval:  # no contact can be guessed
            streams.finish(contacts, decided)
            break
        else:
            window = _Window(streams, contacts)
            window.guess()
            contacts, there, expiries, following = window.followed()
        streams.count(contacts, there)
        decided.add(contacts.here, times_s[contacts.here], expiries)
        contacts = following
    return decided.write(decisions)


class _Contacts(NamedTuple):
    """Contacts each of which another request of its stream follows."""

    here: IndexArray
    """Their requests."""
    stream: IndexArray
    seen: IndexArray
    """The first update of the object after each."""

    def __len__(self) -> int:
        return len(self.here)

    def where(self, chosen: NDArray[np.bool_] | slice) -> Self:
        return type(self)(self.here[chosen], self.stream[chosen], self.seen[chosen])


class _Decided:
    """How many contacts needed an expiry; and, if it is wanted, which, found in any order."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self._n = 0
        self._parts: list[tuple[IndexArray, FloatArray, FloatArray]] = []

    def add(self, here: IndexArray, t: FloatArray, expiries_s: FloatArray) -> None:
        """Add contacts, by numbers that grow with their requests; times and expiries only if they are wanted."""
        self._n += len(here)
        if self.wanted:
            self._parts.append((here, t, expiries_s))

    def write(self, decisions: FloatArray) -> int:
        """See `walk.replay`."""
        if self._parts:
            here, t, expiries_s = map(np.concatenate, zip(*self._parts, strict=True))
            decisions[: self._n] = np.column_stack((t, expiries_s))[here.argsort()]
        return self._n


class _Streams:
    """The streams of a share. Requests, streams and updates go by their numbers."""

    def __init__(
        self,
        times_s: FloatArray,
        stops: IndexArray,
        object_ids: IdArray,
        known: Histories,
        rule: Rule,
        counts: NDArray[np.int64],
    ) -> None:
        self.times_s = times_s
        self.stops = stops
        """The first request after each stream."""
        self.object_ids = object_ids
        self.known, self.rule = known, rule
        self._counts = counts
        if rule.keeps_interval:
            self._intervals_s = np.full(len(object_ids), math.nan)
            self._changed = np.zeros(len(object_ids), dtype=bool)

    def missed(self, firsts: IndexArray) -> _Contacts:
        """The first requests of all streams, counted as misses."""
        streams = np.arange(len(self.object_ids))
        self._add(0, streams, np.ones(len(streams), dtype=np.int64))
        return self.contacts_at(firsts, streams)

    def contacts_at(self, here: IndexArray, stream: IndexArray) -> _Contacts:
        """Contacts at these requests, without those that end their streams."""
        on = here + 1 < self.stops[stream]
        here, stream = here[on], stream[on]
        return _Contacts(here, stream, first_after(*self.updates_of(stream), self.times_s[here]))

    def follow(self, contacts: _Contacts) -> tuple[IndexArray, FloatArray]:
        """The next contact after each, or the end of its stream; and its expiry."""
        here, stream, seen = contacts
        if self.rule.keeps_interval:
            expiries = self._expiries_by_interval(contacts)
        else:
            expiries = expiries_s(self.rule, self.known, self.object_ids[stream], seen, self.times_s[here])
        return first_at_or_after(self.times_s, here + 1, self.stops[stream], expiries), expiries

    def after(self, contacts: _Contacts, there: IndexArray) -> _Contacts:
        """The next contacts, if these are their requests, without those that end their streams."""
        on = there + 1 < self.stops[contacts.stream]
        there, (_, stream, seen) = there[on], contacts.where(on)
        updates_s, _, last_update = self.updates_of(stream)
        then_seen = first_after(updates_s, seen, last_update, self.times_s[there])
        if self.rule.keeps_interval:
            self._changed[stream] = then_seen > seen
        return _Contacts(there, stream, then_seen)

    def finish(self, contacts: _Contacts, decided: _Decided) -> None:
        """Follow and count streams one by one, each from the contact at which it is."""
        by_bin = deciding.ByBin.empty()
        for here, stream, seen in zip(*(column.tolist() for column in contacts), strict=True):
            stop, object_ = int(self.stops[stream]), int(self.object_ids[stream])
            decisions = np.empty((stop - here if decided.wanted else 0, 2))
            row = self._counts[object_ - self.object_ids[0] if len(self._counts) > 1 else 0]
            n = walk.follow(
                self.times_s, here, stop, object_, seen, float(self._intervals_s[stream]), bool(self._changed[stream]),
                self.known, self.rule, row, decisions, by_bin,
            )
            decided.add(here + np.arange(n), *decisions[:n].T)

    def count(self, contacts: _Contacts, there: IndexArray) -> None:
        """Count the requests after contacts up to the next ones."""
        here, stream, seen = contacts
        updates_s, _, last_update = self.updates_of(stream)
        change_s = np.where(seen < last_update, updates_s[seen], math.inf)
        hits = there - here - 1
        stale_hits = np.zeros_like(hits)
        some = np.flatnonzero((hits > 0) & (change_s <= self.times_s[there - 1]))
        stale_hits[some] = there[some] - first_at_or_after(self.times_s, here[some] + 1, there[some], change_s[some])
        validations = there < self.stops[stream]
        unnecessary = validations.copy()
        unnecessary[validations] = change_s[validations] > self.times_s[there[validations]]
        for k, column in enumerate((hits, stale_hits, validations, unnecessary)):
            self._add(k + 1, stream, column)

    def updates_of(self, stream: IndexArray) -> tuple[FloatArray, IndexArray, IndexArray]:
        """The times of all updates, and of the object of each stream its first and the first after it."""
        owners = self.known.history_of[self.object_ids[stream]]
        objects = self.known.objects
        return objects.times_s, objects.firsts[owners], objects.firsts[owners + 1]

    def _expiries_by_interval(self, contacts: _Contacts) -> FloatArray:
        here, stream, seen = contacts
        t, changed = self.times_s[here], self._changed[stream]
        updates_s, first, _ = self.updates_of(stream)
        unchanged_s = np.where(changed | (seen == first) | (self.rule.sync == 0.0), 0.0, t - updates_s[seen - 1])
        expiries, self._intervals_s[stream] = kept_expiries_s(
            self.rule, t, self._intervals_s[stream], changed, unchanged_s
        )
        bound(self.rule, expiries, t)
        return expiries

    def _add(self, k: int, stream: IndexArray, column: NDArray[np.int64] | NDArray[np.bool_]) -> None:
        if len(self._counts) == 1:
            self._counts[0, k] += column.sum()
        else:
            np.add.at(self._counts[:, k], self.object_ids[stream] - self.object_ids[:1], column)


class _Window:
    """Some requests of streams, of each those from a contact on, and what has been found of contacts among them.

    What belongs to a request is kept at its place, which is its number less `shift` of its stream.
    """

    def __init__(self, streams: _Streams, contacts: _Contacts) -> None:
        """The window begins with as many of the contacts as there is room for."""
        self._streams = streams
        lengths = streams.stops[contacts.stream] - contacts.here
        taken = int(lengths.cumsum().searchsorted(REQUESTS_AT_ONCE)) + 1
        self._begun, self._left = contacts.where(slice(taken)), contacts.where(slice(taken, None))
        self._places = np.zeros(len(self._begun) + 1, dtype=np.int64)
        np.cumsum(lengths[:taken], out=self._places[1:])
        self._places[-1] = size = min(self._places[-1], REQUESTS_AT_ONCE)
        self._shift = np.zeros(len(streams.stops), dtype=np.int64)
        self._shift[self._begun.stream] = self._begun.here - self._places[:-1]
        self._ends = np.zeros(len(streams.stops), dtype=np.int64)
        self._ends[self._begun.stream] = self._begun.here + np.diff(self._places)
        """The first request of each stream after the window."""
        self._nexts = np.zeros(size, dtype=np.int64)
        """Of each request that was followed as a contact, the next contact or the end of the stream; else 0."""
        self._expiries_s = np.empty(size)
        self._seen = np.empty(size, dtype=np.int64)
        self._by_bin = deciding.ByBin.empty()

    def guess(self) -> None:
        """Follow the streams from their first contacts, and from each cut, as long as it is worth it."""
        cuts = np.union1d(self._places[:-1], np.arange(0, len(self._nexts), REQUESTS_PER_CUT))
        stream = self._begun.stream[self._places.searchsorted(cuts, side="right") - 1]
        contacts = self._streams.contacts_at(cuts + self._shift[stream], stream)
        claims = np.empty(len(self._nexts), dtype=np.int64)
        while len(contacts) >= FEWEST_AT_ONCE:
            there, expiries = self._streams.follow(contacts)
            place = contacts.here - self._shift[contacts.stream]
            self._nexts[place], self._expiries_s[place], self._seen[place] = there, expiries, contacts.seen
            on = there < self._ends[contacts.stream]
            there, contacts = there[on], contacts.where(on)
            # Walks that have met go on as one, and end where another has been before.
            place, numbers = there - self._shift[contacts.stream], np.arange(len(there))
            claims[place] = numbers
            on = (claims[place] == numbers) & (self._nexts[place] == 0)
            contacts = self._streams.after(contacts.where(on), there[on])

    def followed(self) -> tuple[_Contacts, IndexArray, FloatArray, _Contacts]:
        """The true contacts, the next one after each, their expiries, and the first contacts after the window."""
        nexts = memoryview(self._nexts)
        places: list[int] = []
        ends = []
        streams = self._begun.stream.tolist()
        for here, stream in zip(self._begun.here.tolist(), streams, strict=True):
            shift, stop = int(self._shift[stream]), int(min(self._ends[stream], self._streams.stops[stream] - 1))
            while here < stop:
                places.append(here - shift)
                here = nexts[here - shift] or self._follow_one(here, stream)
            ends.append(here)
        place = np.array(places, dtype=np.int64)
        stream = self._begun.stream[self._places.searchsorted(place, side="right") - 1]
        contacts = _Contacts(place + self._shift[stream], stream, self._seen[place])
        after = self._streams.contacts_at(np.array(ends, dtype=np.int64), self._begun.stream)
        left = _Contacts(*map(np.concatenate, zip(after, self._left, strict=True)))
        return contacts, self._nexts[place], self._expiries_s[place], left

    def _follow_one(self, here: int, stream: int) -> int:
        """What comes next if there is a contact here."""
        streams = self._streams
        known, object_, t = streams.known, int(streams.object_ids[stream]), float(streams.times_s[here])
        first, last = lookup.updates_of(known.objects, known.history_of[object_])
        seen = lookup.first_after(known.objects.times_s, first, last, t)
        expiry = walk.expiry_s(streams.rule, known, object_, seen, t, self._by_bin)
        there = lookup.first_at_or_after(streams.times_s, here + 1, int(streams.stops[stream]), expiry)
        place = here - int(self._shift[stream])
        self._nexts[place], self._expiries_s[place], self._seen[place] = there, expiry, seen
        return there
