"""Requests drawn at random for recorded updates, for which there is no log.

Popularity follows Zipf's law. The requests of an object are Poisson with a daily pattern, each followed by others of
the same client within a minute. All draws are seeded.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.evaluation.case import Case
from bestbefore.replay.traces.columns.columns import Requests, Updates

MOST_OBJECTS = 60
CLIENTS = 50
ZIPF = 0.9
"""The exponent of popularity, of objects and of clients."""
NIGHT = 0.3
"""The rate from 22 to 7 o'clock, as a share of the rate of the day."""
NEXT = 0.23
"""The probability that a request is followed by another of its client."""
NEXT_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """The lengths of a trace, and the rate of its requests.

    Requests begin as long before the test start as they last after it; from these observed histories are learnt.
    """

    history_s: float
    test_s: float
    per_day: float
    """The mean requests of an object a day."""


SHORT = TraceSpan(21 * DAY_S, 14 * DAY_S, 40.0)
LONG = TraceSpan(180 * DAY_S, 60 * DAY_S, 10.0)
"""For sources with few updates."""
SELDOM = 0.5
"""A source has few updates if its objects have fewer than this a day, in the median."""


def generated(family: str, name: str, times_s: Mapping[str, FloatArray], seed: int) -> Case:
    """Return a trace of the updates of a source, by object, around an update drawn at random, with drawn requests."""
    random = np.random.default_rng(seed)
    every_s = np.sort(np.concatenate(list(times_s.values())))
    span = _span(times_s)
    whole_s = span.history_s + span.test_s
    around_s = float(every_s[int(random.integers(len(every_s) // 10, len(every_s)))])
    first_s = max(float(every_s[0]), min(around_s - span.history_s - span.test_s / 2, float(every_s[-1]) - whole_s))
    origin_s = np.floor(first_s / DAY_S) * DAY_S
    own_s = {
        object_: updates_s[(updates_s >= origin_s) & (updates_s < origin_s + whole_s)]
        for object_, updates_s in times_s.items()
    }
    changed = sorted(object_ for object_, updates_s in own_s.items() if len(updates_s))
    objects = tuple(changed[i] for i in random.permutation(len(changed))[:MOST_OBJECTS].tolist())
    requests = _requests(objects, origin_s + span.history_s - span.test_s, span, random)
    none = Updates(np.empty(0), np.empty(0, dtype=np.int32), ())
    case = Case(family, name, none, requests, origin_s, origin_s + span.history_s)
    return case.with_updates(name, {object_: own_s[object_] for object_ in objects})


def _span(times_s: Mapping[str, FloatArray]) -> TraceSpan:
    rates = [len(own_s) / (float(own_s[-1] - own_s[0]) / DAY_S + 1.0) for own_s in times_s.values() if len(own_s)]
    return LONG if float(np.median(rates)) < SELDOM else SHORT


def _requests(objects: tuple[str, ...], start_s: float, span: TraceSpan, random: np.random.Generator) -> Requests:
    """Draw requests for these objects, the most popular first."""
    length_s = 2 * span.test_s
    share = np.arange(1.0, len(objects) + 1.0) ** -ZIPF
    mean = share / share.sum() * len(objects) * span.per_day * length_s / DAY_S
    ids = np.repeat(np.arange(len(objects), dtype=np.int32), random.poisson(mean * (1.0 - NEXT) / _DAY_SHARE))
    times_s = start_s + random.random(len(ids)) * length_s
    hours = times_s % DAY_S / (DAY_S / 24.0)
    kept = (random.random(len(ids)) < NIGHT) | ((hours >= 7.0) & (hours < 22.0))
    ids, times_s = ids[kept], times_s[kept]
    popular = np.arange(1.0, CLIENTS + 1.0) ** -ZIPF
    client_ids = random.choice(CLIENTS, len(ids), p=popular / popular.sum()).astype(np.int32)
    every = [(times_s, client_ids, ids)]
    while len(ids):
        again = random.random(len(ids)) < NEXT
        times_s, client_ids, ids = times_s[again], client_ids[again], ids[again]
        times_s = times_s + random.random(len(ids)) * NEXT_WITHIN_S
        every.append((times_s, client_ids, ids))
    columns = [np.concatenate(column) for column in zip(*every, strict=True)]
    inside = columns[0] < start_s + length_s
    return Requests.of(
        np.floor(columns[0][inside]), columns[1][inside], columns[2][inside], tuple(map(str, range(CLIENTS))), objects
    )


_DAY_SHARE = (15.0 + 9.0 * NIGHT) / 24.0
"""The share of drawn times that the daily pattern keeps."""
