"""The inference of updates from the sizes and validators of responses in an access log.

Source: Bright, Gal, Raschid (`adaptive`), appendix A: an object has changed when the majority of its requests have a
new size, for at least two minutes. In modern logs one page has several sizes at the same time, by content coding,
session or language. Therefore these rules are added:

- Sizes that are served at the same time form one era of the object. The object has changed when an era is followed by
  another without overlap. (As in the paper, two minutes of overlap are allowed for the servers of a farm.)
- At least one client (or user agent, if logged) must have received both eras: differences between clients are no
  updates.
- If the requests had received variants in random order, such a separation in time would have a probability of at most
  1 in 20.

Validators are better evidence: they replace sizes where the log has them, and the last rule is not applied. Where
Last-Modified shows the update, no common client is needed either, and the time of the update is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.admin.units import counted
from bestbefore.addon.rfc9111.fields.dates import parse_http_date
from bestbefore.policies.units import FloatArray
from bestbefore.replay.traces.columns.columns import IdArray, Updates
from bestbefore.replay.traces.inference.accesses import UNKNOWN, WHOLE, Accesses

HELD_S = 120.0
"""The least time for which a version must be served, and the most for which it may overlap the next one."""
LEAST_SHARE = 0.05
"""The least share of a version in the requests between its first and last one; rarer sizes are truncated downloads."""
MAJORITY = 0.5
"""The share of requests that an era must exceed."""
LARGEST_CHANCE = 0.05 * (1 + 1e-9)
"""The largest probability of a separation by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Inferred:
    """Inferred updates with the evidence for each; all arrays in the order of `updates`."""

    updates: Updates
    within_s: FloatArray
    """The uncertainty of the time: the update lies in (time - within_s, time], after the last response before it."""
    seen_by: NDArray[np.int64]
    """The number of clients (or agents) that received the object both before and after."""
    chances: FloatArray
    """The probability that variants without an update look the same, from 0 to 1; 0 if validators show the update."""
    doubtful: int
    """The number of apparent changes without enough evidence, which are not among the updates."""
    brief: int
    """The number of validators served for less than two minutes, of objects with several validators."""

    def summary(self) -> str:
        """Return the number of updates and the strength of the evidence, in one line."""
        left_out = f"; left out as doubtful: {counted(self.doubtful, 'apparent change')}" if self.doubtful else ""
        if self.brief:
            left_out += f"; ignored, as served for less than two minutes: {counted(self.brief, 'validator')}"
        if not len(self.updates):
            return f"no update could be inferred, so that no hit can be stale{left_out}"
        return (
            f"{counted(len(self.updates), 'update')} of {counted(len(self.updates.objects), 'object')} inferred, seen "
            f"before and after by {counted(round(float(np.median(self.seen_by))), 'client')} and dated to within "
            f"{np.median(self.within_s):,.0f} s (medians); the chance of mere page variants is at most 1 in 1,000 for "
            f"{np.count_nonzero(self.chances <= 0.001):,} of them, 1 in 20 for all{left_out}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Sightings:
    """The responses that show a version of an object, ordered by object, then time."""

    times_s: FloatArray
    object_ids: IdArray
    viewers: IdArray
    """The ids of clients, or of user agents where the log has them."""
    values: NDArray[np.int64]
    """The version: the id of a validator, or -1 - size."""

    def of(self, object_id: int) -> "_Sightings":
        """Return the sightings of one object."""
        part = slice(*self.object_ids.searchsorted([object_id, object_id + 1]))
        return _Sightings(self.times_s[part], self.object_ids[part], self.viewers[part], self.values[part])


@dataclass(frozen=True, slots=True, eq=False)
class _Versions:
    """The versions of objects that were served for long enough, ordered by object, then by first response."""

    object_ids: IdArray
    values: NDArray[np.int64]
    """As in `_Sightings`."""
    first_s: FloatArray
    """The time of the first response with the version."""
    last_s: FloatArray
    """The time of the last response with the version."""
    modified_s: FloatArray
    """The Last-Modified; NaN without one."""

    def of(self, object_id: int) -> "_Versions":
        """Return the versions of one object."""
        return self[slice(*self.object_ids.searchsorted([object_id, object_id + 1]))]

    def __getitem__(self, kept: "slice | NDArray[np.bool] | NDArray[np.intp]") -> "_Versions":
        return _Versions(
            self.object_ids[kept], self.values[kept], self.first_s[kept], self.last_s[kept], self.modified_s[kept]
        )

    def sighted(self, sightings: _Sightings) -> NDArray[np.bool]:
        """Return which sightings show one of these versions; all must be of one object."""
        return np.isin(sightings.values, self.values)

    def have_majority(self, sightings: _Sightings) -> bool:
        """Whether these versions are the majority of the sightings between their first and last one."""
        between = slice(
            sightings.times_s.searchsorted(self.first_s.min(), side="left"),
            sightings.times_s.searchsorted(self.last_s.max(), side="right"),
        )
        return bool(np.mean(self.sighted(sightings)[between]) > MAJORITY)


@dataclass(frozen=True, slots=True)
class _Change:
    object_id: int
    time_s: float
    within_s: float
    seen_by: int
    chance: float


def infer_updates(accesses: Accesses) -> Inferred:
    """Infer the updates of the objects in a log."""
    sightings = _sightings(accesses)
    versions, brief = _versions(sightings, accesses.validators)
    object_ids, counts = np.unique(versions.object_ids, return_counts=True)
    changes: list[_Change] = []
    doubtful = 0
    for object_id in object_ids[counts > 1].tolist():
        accepted, rejected = _changes(sightings.of(object_id), versions.of(object_id), object_id)
        changes += accepted
        doubtful += rejected
    changes.sort(key=lambda change: (change.time_s, change.object_id))
    changed, ids = np.unique(np.array([c.object_id for c in changes], dtype=np.int32), return_inverse=True)
    return Inferred(
        Updates(
            np.array([c.time_s for c in changes], dtype=np.float64),
            ids.astype(np.int32),
            tuple(accesses.requests.objects[i] for i in changed.tolist()),
        ),
        np.array([c.within_s for c in changes], dtype=np.float64),
        np.array([c.seen_by for c in changes], dtype=np.int64),
        np.array([c.chance for c in changes], dtype=np.float64),
        doubtful,
        brief,
    )


def _sightings(accesses: Accesses) -> _Sightings:
    """Return the sightings. A 304 shows the last version sent to its client, or nothing if there is none."""
    requests = accesses.requests
    has_validator = accesses.validator_ids >= 0
    whole = np.isin(accesses.statuses, (*WHOLE, UNKNOWN)) & (has_validator | (accesses.sizes_bytes >= 0))
    rows = np.flatnonzero(whole | (accesses.statuses == 304))
    # Ordered by object and client, so that the last whole response to a client is the nearest one before.
    rows = rows[np.lexsort((requests.client_ids[rows], requests.object_ids[rows]))]
    sent = np.maximum.accumulate(np.where(whole[rows], np.arange(len(rows)), -1))
    clients, objects = requests.client_ids[rows], requests.object_ids[rows]
    known = (sent >= 0) & (clients[sent] == clients) & (objects[sent] == objects)
    rows, sources = rows[known], rows[sent[known]]
    by_time = np.lexsort((rows, requests.object_ids[rows]))
    rows, sources = rows[by_time], sources[by_time]
    agents, clients = accesses.agent_ids[rows], requests.client_ids[rows]
    return _Sightings(
        requests.times_s[rows],
        requests.object_ids[rows],
        np.where(agents == UNKNOWN, agents.max(initial=UNKNOWN) + 1 + clients, agents),
        np.where(has_validator, accesses.validator_ids, -1 - accesses.sizes_bytes)[sources],
    )


def _versions(sightings: _Sightings, validators: tuple[str, ...]) -> tuple[_Versions, int]:
    """Return the versions that were served for long enough, and the number of brief validators (`Inferred.brief`)."""
    order = np.lexsort((sightings.values, sightings.object_ids))
    objects, values = sightings.object_ids[order], sightings.values[order]
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(objects) != 0) | (np.diff(values) != 0)))[: len(order)])
    ends = np.append(starts, len(order))[1:]
    first, last = order[starts], order[ends - 1]
    versions = _Versions(
        objects[starts], values[starts], sightings.times_s[first], sightings.times_s[last],
        np.full(len(starts), np.nan),
    )
    dated = _modified_s(validators, float(sightings.times_s.max(initial=0.0)))
    has_validator = versions.values >= 0
    versions.modified_s[has_validator] = dated[versions.values[has_validator]]
    counts = ends - starts
    since_s = np.fmin(versions.first_s, versions.modified_s)
    seen_again = (counts > 1) | (versions.modified_s < versions.first_s)
    is_long = versions.last_s - since_s >= HELD_S
    kept = np.flatnonzero(is_long & seen_again & (counts >= LEAST_SHARE * (last - first + 1)))
    _, objects_at, values_told = np.unique(versions.object_ids, return_inverse=True, return_counts=True)
    brief = int(np.count_nonzero(has_validator & ~is_long & (values_told[objects_at] > 1)))
    return versions[kept[np.lexsort((versions.first_s[kept], versions.object_ids[kept]))]], brief


def _modified_s(validators: tuple[str, ...], now_s: float) -> FloatArray:
    """Return the Unix seconds of each validator that is a date; NaN for others."""
    dates = (parse_http_date(validator, now_s) for validator in validators)
    return np.array([np.nan if date is None else date for date in dates], dtype=np.float64)


def _changes(sightings: _Sightings, versions: _Versions, object_id: int) -> tuple[list[_Change], int]:
    """Return the changes of one object with enough evidence, and the number of the others."""
    accepted: list[_Change] = []
    rejected = 0
    before: _Versions | None = None
    for era in _eras(versions):
        if not era.have_majority(sightings):
            rejected += 1
            continue
        if before is None:
            before = era
            continue
        change = _change(sightings, before, era, object_id)
        if change is None:
            rejected += 1
            before = versions[np.isin(versions.values, (*before.values, *era.values))]
        else:
            accepted.append(change)
            before = era
    return accepted, rejected


def _eras(versions: _Versions) -> Iterator[_Versions]:
    """Yield the eras of one object: its versions, separated where none overlaps the next one."""
    outlived_s = np.maximum.accumulate(np.fmax(versions.last_s - HELD_S, versions.first_s))
    cuts = np.flatnonzero(versions.first_s[1:] > outlived_s[:-1]) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(versions.first_s)], strict=True):
        yield versions[start:end]


def _change(sightings: _Sightings, before: _Versions, after: _Versions, object_id: int) -> _Change | None:
    """Return the change between two eras; None without enough evidence."""
    last_s, first_s = float(before.last_s.max()), float(after.first_s[0])
    seen_by, chance = _evidence(
        sightings.viewers[before.sighted(sightings)], sightings.viewers[after.sighted(sightings)]
    )
    modified_s = float(after.modified_s[0])
    if last_s < modified_s <= first_s:
        return _Change(object_id, modified_s, 0.0, seen_by, 0.0)
    if np.all(before.values >= 0) and np.all(after.values >= 0):
        chance = 0.0
    if seen_by == 0 or chance > LARGEST_CHANCE:
        return None
    return _Change(object_id, first_s, max(first_s - last_s, 0.0), seen_by, chance)


def _evidence(before: IdArray, after: IdArray) -> tuple[int, float]:
    """Return the number of viewers in both eras, and the probability that random order separates the eras like this.

    Viewers of only one era count once each, and are compared with each other; the sightings of viewers of both eras are
    compared within each viewer. These events are independent, so the probability is a product of 1 / (number of ways to
    choose the earlier ones).
    """
    viewers_before, counts_before = np.unique(before, return_counts=True)
    viewers_after, counts_after = np.unique(after, return_counts=True)
    both, at_before, at_after = np.intersect1d(viewers_before, viewers_after, return_indices=True)
    ways = _log_choose(len(viewers_before) + len(viewers_after) - 2 * len(both), len(viewers_before) - len(both))
    for a, b in zip(counts_before[at_before].tolist(), counts_after[at_after].tolist(), strict=True):
        ways += _log_choose(a + b, a)
    return len(both), exp(-ways)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
