"""The control of the price of stale hits in a group, so that a target share of its cached requests are stale hits.

Stale hits show only later, at a validation that finds the object changed; those of open copies are yet to show. So each
hit is predicted to be stale with the probability that the object has changed since the copy was current, at the mean
rate of its updates. Validations show how many stale hits there were for each that was predicted.

The price in force is a function of sums over the requests of a group in each period of some hours; there is no other
state. The sums are integers, so that they do not depend on the order in which several proxies add to them. Functions
are plain loops over numbers, so that numba compiles them unchanged.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bestbefore.policies.units import DAY_S, HOUR_S

PERIOD_S = 6 * HOUR_S
"""The length of the periods by which requests are summed, which begin with the epoch."""
PERIODS = 64
"""How many periods count, the present one included."""
REQUESTS, LOG_PRICES, PREDICTED, STALE, STALE_PREDICTED = range(5)
"""The sums of a period: the requests that found a copy and, in millionths, the logarithms of the prices of these
copies, the stale hits predicted, those shown by validations, and those predicted for the copies so ended."""
SUMS = 5
MILLION = 1_000_000

KEPT = math.exp(-PERIOD_S / (2 * DAY_S))
"""The share of the weight of requests that is left after a period."""
SHOWN_KEPT = math.exp(-PERIOD_S / (4 * DAY_S))
"""The same for stale hits shown by validations, of which there are fewer."""
PRIOR_REQUESTS = 300.0
"""The number of requests, at the first price and with the target share of stale hits, that are added to a group's."""
PRIOR_STALE = 5.0
"""The number of stale hits, as many as predicted, that are added to those shown."""
FIRST_PRICE = 0.03
"""The price in force before any request is this over the target."""
LOWEST, HIGHEST = 0.5, 50.0
"""The bounds of the price, over the first one."""
LARGEST_CORRECTION = 0.3
"""How much of the logarithm of the price may make up for stale hits that were too many or too few."""
PRIOR_S = HOUR_S * 12
"""The time of observation that is added to that of an object, with half an update."""


class CopyControl(NamedTuple):
    """What the control of a group needs of a copy, from its last contact."""

    updates_per_s: float
    """The mean rate of updates of the object at the contact."""
    log_price: int
    """The logarithm of the price by which its expiry was decided, in millionths."""


class ControlState(NamedTuple):
    """The control of a group at a moment, for people."""

    target: float
    """The share of cached requests that are to be stale hits."""
    price: float
    """The price in force: the number of validations that one stale hit is worth."""
    requests: int
    """The requests that found a copy, in all periods that count."""
    stale: float
    """The stale hits among them, by estimate."""
    shown: float
    """Those of them that validations have shown."""
    predicted: float
    """The stale hits that had been predicted for the copies of these validations."""


class GroupSums:
    """The sums of a group by period."""

    __slots__ = ("latest", "rows")

    def __init__(self) -> None:
        self.latest = 0
        """The latest period, as a number since the epoch."""
        self.rows: list[list[int]] = []
        """The sums of the latest period and those before it, which are `PERIODS` at most."""

    def begin(self, period: int) -> None:
        """Begin a period, if it is later than the latest one."""
        if not self.rows:
            self.latest = period
        for _ in range(min(period - self.latest, PERIODS) if self.rows else 1):
            self.rows.insert(0, [0] * SUMS)
        del self.rows[PERIODS:]
        self.latest = max(self.latest, period)

    def add(self, period: int, amounts: Sequence[int]) -> None:
        """Add amounts to the sums of a period; not if it is too long ago to count."""
        self.begin(period)
        age = self.latest - period
        if age >= PERIODS:
            return
        self.rows.extend([0] * SUMS for _ in range(age + 1 - len(self.rows)))
        self.rows[age] = [a + b for a, b in zip(self.rows[age], amounts, strict=True)]


def period_of(t: float) -> int:
    """The number of the period of a moment, since the epoch."""
    return int(t // PERIOD_S)


def mean_rate_per_s(updates: int, observed_s: float) -> float:
    """The mean rate of updates of an object that had so many in this time, drawn towards one a day."""
    return (updates + 0.5) / (observed_s + PRIOR_S)


def millionths(number: float) -> int:
    """The nearest whole number of millionths."""
    return math.floor(number * MILLION + 0.5)


def predicted_stale(updates_per_s: float, passed_s: float) -> int:
    """The stale hits, in millionths, to be expected of one hit so long after its copy was current."""
    return millionths(-math.expm1(-updates_per_s * max(passed_s, 0.0)))


def shown_stale(predicted: int, updates_per_s: float, passed_s: float) -> int:
    """The stale hits, in millionths, of a copy whose object has changed in this time.

    That many must be expected if `predicted` were before this was known.
    """
    chance = -math.expm1(-updates_per_s * max(passed_s, 0.0))
    return math.floor(predicted / chance + 0.5) if chance > 0.0 else 0


def of_hits(copy: CopyControl, hits: int, predicted: int) -> tuple[int, int, int, int, int]:
    """The amounts that hits of a copy add to the sums; `predicted` is the sum of `predicted_stale`."""
    return hits, hits * copy.log_price, predicted, 0, 0


def of_validation(
    copy: CopyControl, passed_s: float, predicted: int, changed: bool
) -> tuple[int, int, int, int, int]:
    """The amounts that a validation adds to the sums, so long after its copy was current.

    `predicted`: the stale hits predicted for the copy.
    """
    shown = shown_stale(predicted, copy.updates_per_s, passed_s) if changed else 0
    return 1, copy.log_price, 0, shown, predicted


def log_price(rows: Sequence[Sequence[int]], target: float) -> float:
    """The logarithm of the price in force, for a target share of stale hits; `rows` as in `GroupSums`."""
    requests, log_prices, predicted = 0.0, 0.0, 0.0
    weight = 1.0
    for age in range(len(rows)):
        row = rows[age]
        requests += weight * row[REQUESTS]
        log_prices += weight * row[LOG_PRICES] / MILLION
        predicted += weight * row[PREDICTED] / MILLION
        weight *= KEPT
    first = math.log(FIRST_PRICE / target)
    requests += PRIOR_REQUESTS
    used = (log_prices + PRIOR_REQUESTS * first) / requests
    for_each = shown_for_each(rows)
    rate = (for_each * predicted + PRIOR_REQUESTS * target) / requests
    all_requests, all_stale = estimated_stale(rows, for_each)
    owed = all_stale - target * all_requests
    correction = min(max(owed / (target * requests), -LARGEST_CORRECTION), LARGEST_CORRECTION)
    wanted = used + math.log(rate / target) + correction
    return min(max(wanted, first + math.log(LOWEST)), first + math.log(HIGHEST))


def shown_for_each(rows: Sequence[Sequence[int]]) -> float:
    """The stale hits shown by validations for each that was predicted."""
    shown, predicted = PRIOR_STALE * MILLION, PRIOR_STALE * MILLION
    weight = 1.0
    for age in range(len(rows)):
        shown += weight * rows[age][STALE]
        predicted += weight * rows[age][STALE_PREDICTED]
        weight *= SHOWN_KEPT
    return shown / predicted


def estimated_stale(rows: Sequence[Sequence[int]], for_each: float) -> tuple[float, float]:
    """The requests in all periods, and their stale hits: those shown by validations, and those expected of open copies.

    `for_each`: the stale hits expected for each that was predicted.
    """
    requests, stale, open_ = 0, 0, 0
    for age in range(len(rows)):
        row = rows[age]
        requests += row[REQUESTS]
        stale += row[STALE]
        open_ += row[PREDICTED] - row[STALE_PREDICTED]
    return float(requests), (stale + for_each * max(open_, 0)) / MILLION


def state_of(rows: Sequence[Sequence[int]], target: float) -> ControlState:
    """Return the control of a group with these sums."""
    _, stale = estimated_stale(rows, shown_for_each(rows))
    requests, _, _, shown, predicted = (sum(row[k] for row in rows) for k in range(SUMS))
    price = math.exp(log_price(rows, target))
    return ControlState(target, price, requests, stale, shown / MILLION, predicted / MILLION)
