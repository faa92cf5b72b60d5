"""The control of the price of stale hits in a group, so that a target share of its cached requests are stale hits.

Stale hits show only later, at a validation that finds the object changed; those of open copies are yet to show. So each
hit is predicted to be stale with the probability that the object has changed since the copy was current, at the mean
rate of its updates. Validations show how many stale hits there were for each that was predicted.

The price in force is a function of sums over the requests of a group, decayed or plain; there is no other state. So
several proxies can add their sums.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bestbefore.policies.units import DAY_S, HOUR_S

MEMORY_S = 2 * DAY_S
"""The time in which the sums of requests decay to 1/e."""
REVEALED_MEMORY_S = 4 * DAY_S
"""The same for stale hits shown by validations, of which there are fewer."""
PRIOR_REQUESTS = 2000.0
"""The number of requests, at the first price and with the target share of stale hits, that are added to a group's."""
PRIOR_STALE = 5.0
"""The number of stale hits, as many as predicted, that are added to those shown."""
FIRST_PRICE = 0.03
"""The price in force before any request is this over the target."""
LOWEST, HIGHEST = 0.25, 50.0
"""The bounds of the price, over the first one."""
LARGEST_CORRECTION = 0.3
"""How much of the logarithm of the price may make up for stale hits that were too many or too few."""
PRIOR_S = HOUR_S * 12
"""The time of observation that is added to that of an object, with half an update."""


class CopyControl(NamedTuple):
    """What the control of a group needs of a copy, from its last contact."""

    current_s: float
    updates_per_s: float
    """The mean rate of updates of the object at the contact."""
    log_price: float
    """The logarithm of the price by which its expiry was decided."""
    predicted: float = 0.0
    """The stale hits predicted since."""


class GroupControl(NamedTuple):
    """Sums over the requests of a group that found a copy. The names that begin with `all` do not decay."""

    at_s: float = 0.0
    """The time of the last request."""
    requests: float = 0.0
    log_prices: float = 0.0
    """The logarithms of the prices of their copies."""
    predicted: float = 0.0
    """The stale hits predicted."""
    stale: float = 0.0
    """The stale hits shown by validations."""
    stale_predicted: float = 0.0
    """The stale hits that had been predicted for the copies which these validations ended."""
    all_requests: float = 0.0
    all_predicted: float = 0.0
    all_stale: float = 0.0
    all_stale_predicted: float = 0.0


def mean_rate_per_s(updates: int, observed_s: float) -> float:
    """The mean rate of updates of an object that had so many in this time, drawn towards one a day."""
    return (updates + 0.5) / (observed_s + PRIOR_S)


def chance_changed(copy: CopyControl, t: float) -> float:
    """The probability that the object of a copy has changed by t."""
    return -math.expm1(-copy.updates_per_s * (t - copy.current_s))


def requested(control: GroupControl, copy: CopyControl, t: float) -> GroupControl:
    """The sums after a request, at t, that found a copy."""
    passed_s = max(t - control.at_s, 0.0)
    kept, kept_stale = math.exp(-passed_s / MEMORY_S), math.exp(-passed_s / REVEALED_MEMORY_S)
    return control._replace(
        at_s=max(t, control.at_s),
        requests=control.requests * kept + 1.0,
        log_prices=control.log_prices * kept + copy.log_price,
        predicted=control.predicted * kept,
        stale=control.stale * kept_stale,
        stale_predicted=control.stale_predicted * kept_stale,
        all_requests=control.all_requests + 1.0,
    )


def hit(control: GroupControl, copy: CopyControl, t: float) -> tuple[GroupControl, CopyControl]:
    """The sums, and the copy, after a request at t was a hit; `requested` has counted it."""
    chance = chance_changed(copy, t)
    return (
        control._replace(predicted=control.predicted + chance, all_predicted=control.all_predicted + chance),
        copy._replace(predicted=copy.predicted + chance),
    )


def stale_hits(copy: CopyControl, t: float, hits_s: Sequence[float], changed_s: float) -> float:
    """The stale hits of a copy whose object a validation at t found changed.

    These are the hits since its last update, `changed_s`; those before it were stale as probably as predicted. NaN: the
    time of the update is unknown, and as many count as must be expected of an object that has changed.
    """
    if math.isnan(changed_s):
        chance = chance_changed(copy, t)
        return copy.predicted / chance if chance > 0.0 else 0.0
    return sum(1.0 if hit_s >= changed_s else chance_changed(copy, hit_s) for hit_s in hits_s)


def validated(control: GroupControl, copy: CopyControl, stale: float) -> GroupControl:
    """The sums after a validation ended the copy, and showed this many stale hits; `requested` has counted it."""
    return control._replace(
        stale=control.stale + stale,
        stale_predicted=control.stale_predicted + copy.predicted,
        all_stale=control.all_stale + stale,
        all_stale_predicted=control.all_stale_predicted + copy.predicted,
    )


def log_price(control: GroupControl, target: float) -> float:
    """The logarithm of the price in force, for a target share of stale hits."""
    first = math.log(FIRST_PRICE / target)
    requests = control.requests + PRIOR_REQUESTS
    used = (control.log_prices + PRIOR_REQUESTS * first) / requests
    rate = (_shown_for_each(control) * control.predicted + PRIOR_REQUESTS * target) / requests
    owed = estimated_stale(control) - target * control.all_requests
    correction = min(max(owed / (target * requests), -LARGEST_CORRECTION), LARGEST_CORRECTION)
    wanted = used + math.log(rate / target) + correction
    return min(max(wanted, first + math.log(LOWEST)), first + math.log(HIGHEST))


def estimated_stale(control: GroupControl) -> float:
    """The stale hits so far: those shown by validations, and those expected of open copies."""
    of_open = max(control.all_predicted - control.all_stale_predicted, 0.0)
    return control.all_stale + _shown_for_each(control) * of_open


def _shown_for_each(control: GroupControl) -> float:
    """The stale hits shown by validations for each that was predicted."""
    return (control.stale + PRIOR_STALE) / (control.stale_predicted + PRIOR_STALE)
