"""Table 1: the segments of the day from the updates of all cyclic objects in the training days."""

import math
from itertools import pairwise

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.segmentation import log_likelihood
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.policies.validation.machinery.estimates import set_joined_group_pattern
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.claims import NOT_SEEN, Claim
from bestbefore.replay.report.page import Page

PRINTED = (
    (0, 7, 23.81), (7, 10, 52.07), (10, 14, 83.40), (14, 15, 98.53), (15, 17, 65.23),
    (17, 19, 84.27), (19, 22, 35.40), (22, 23, 83.40), (23, 24, 35.40),
)  # fmt: skip
"""The first and last hour of each of the nine printed intervals, and its updates per hour."""
PRINTED_UPDATES = 10074
DAYS = 8
BULK_S = 30.0
PENALTIES = (0.5, 1.0, 2.0, 4.0)


def segments_of(times_s: FloatArray, days: float, penalty: float) -> list[tuple[float, float, float]]:
    """Return the first and last hour of each segment and its updates per hour, for two or more updates in `days`."""
    known = HistoryFeatures(
        History.of([], ORIGIN_S), Group.of_updates(times_s, [ORIGIN_S]), ORIGIN_S + days * DAY_S,
        window_s=days * DAY_S + 1.0,
    )
    updates = known.set_group_counts()
    if not updates:
        return []
    found = set_joined_group_pattern(known, updates, penalty)
    room = known.by_bin
    edges_h = (edge_s / HOUR_S for edge_s in room.edges_s[: found + 1])
    rates = (n / hours for n, hours in zip(room.counts[:found], room.hours[:found], strict=True))
    return [(begin_h, end_h, rate) for (begin_h, end_h), rate in zip(pairwise(edges_h), rates, strict=True)]


def bulk_events(times_s: FloatArray) -> int:
    """The number of events if updates of any objects within 30 s of the one before are merged."""
    times = sorted(times_s.tolist())
    return len(times) and 1 + sum(later - earlier > BULK_S for earlier, later in pairwise(times))


def write(page: Page, cyclic: Paired) -> Claim:
    """Write the section of the table, and return the claim on the paper's seven segments."""
    training = cyclic.first_days(DAYS).updates
    printed_updates = sum((until - begin) * rate * DAYS for begin, until, rate in PRINTED)
    page.section("Table 1: the aggregate history")
    page.text(
        f"""The paper analyses {PRINTED_UPDATES:,} updates of 4,405 cyclic objects in eight days (its rates add up to
        {printed_updates:,.0f}) and gives seven rates for nine intervals, without saying how they were found. Ours are
        {len(training):,} updates of {len(cyclic.updates.times_by_object())} cyclic objects in eight days
        ({bulk_events(training.times_s):,} events, if updates within {BULK_S:.0f} s of each other are one, as the paper
        also counts). The segments are optimal: of all ways to join hours of the day, that with the largest Poisson
        log-likelihood less ln N for each segment (`policies/models/segmentation.py`). This is the Bayesian information
        criterion: a segment has two parameters, its edge and its rate, and each costs half of ln N, N being the number
        of updates. Ours do not extend across midnight, and two separate segments are never one, as 10-14 and 22-23 are
        in the paper. The rates are of different sites: what can be compared is their shape."""
    )
    mean = len(training) / (DAYS * 24)
    printed_mean = printed_updates / (DAYS * 24)
    ours = [(f"{a:g}-{b:g}", rate) for a, b, rate in segments_of(training.times_s, DAYS, 1.0)]
    rows = []
    for i in range(max(len(PRINTED), len(ours))):
        printed = _printed_cells(i, printed_mean) if i < len(PRINTED) else ("",) * 4
        rows.append((*printed, *(_cells(*ours[i], mean) if i < len(ours) else ("",) * 3)))
    heads = ("updates per hour", "over the mean")
    page.table(("hours, printed", *heads, "gain of the cut, in ln N", "hours, ours (UTC)", *heads), rows)
    numbers = ", ".join(f"{len(segments_of(training.times_s, DAYS, p))} with {p:g} ln N" for p in PENALTIES)
    page.text(
        f"""The number of segments depends on the penalty: {numbers}. Would a criterion give the paper's seven? The gain
        in log-likelihood of each of its eight cuts, from its own rates, is in the table: with a penalty of 1 ln N all
        would be made but the one at 14, and a lower penalty makes that too. That leaves eight or nine intervals; seven
        come only of giving some of them one rate, and then 10-14 and 17-19 ({_rate(10):g} and {_rate(17):g} updates per
        hour, a difference worth {_gain(_span(10), _span(17)):.3f} ln N) would be one as well. So the seven were drawn
        by eye, or by a rule we do not know. What the segments are worth to AggHist is in Figure 7."""
    )
    return Claim(
        "Table 1",
        "the day has seven segments",
        f"{len(ours)} with the Bayesian information criterion, on another site",
        NOT_SEEN,
        NOT_SEEN,
    )


def _rate(hour: int) -> float:
    return next(rate for begin, until, rate in PRINTED if begin <= hour < until)


def _span(hour: int) -> tuple[float, float]:
    """The updates and the hours of a printed interval."""
    begin, until, rate = next(interval for interval in PRINTED if interval[0] <= hour < interval[1])
    hours = float(DAYS * (until - begin))
    return rate * hours, hours


def _gain(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the gain in log-likelihood, in units of ln N, of two rates over one for two intervals."""
    together = one[0] + other[0], one[1] + other[1]
    gain = log_likelihood(*one) + log_likelihood(*other) - log_likelihood(*together)
    return gain / math.log(PRINTED_UPDATES)


def _printed_cells(place: int, mean: float) -> tuple[str, ...]:
    begin, until, rate = PRINTED[place]
    gain = f"{_gain(_span(PRINTED[place - 1][0]), _span(begin)):.1f}" if place else ""
    return *_cells(f"{begin}-{until}", rate, mean), gain


def _cells(hours: str, rate: float, mean: float) -> tuple[str, str, str]:
    return hours, f"{rate:.2f}", f"{rate / mean if mean else 0.0:.2f}"
