"""The tables of a comparison, as cells of text."""

from collections.abc import Sequence

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.comparison import BOUND, ORACLE, Comparison, Needs, ReplayConditions, bound, oracle
from bestbefore.replay.evaluation.curves import Spread, ratio
from bestbefore.replay.evaluation.kinds import BURSTY, CYCLIC, MIXED
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.simulate.scenario import Cache

NOT_REACHED, NOT_COMPARED = "not reached", "–"
MANY = 20.0
"""The ratio from which on it is shown as a whole number."""
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The headings, and the rows."""


def shown(spread: Spread | None, *, ends: bool = True) -> str:
    """Format a geometric mean, with the smallest and largest ratio and, if some are unknown, with their number.

    >>> shown(Spread(0.571, 0.55, 0.6, 5, 6)), shown(Spread(1.0, 1.0, 1.0, 1, 1)), shown(None)
    ('0.57 (0.55 to 0.60), 5 of 6', '1.00', '–')
    """
    if spread is None:
        return NOT_COMPARED
    if not spread.known:
        return NOT_REACHED
    several = f" ({_times(spread.least)} to {_times(spread.most)})" if ends and spread.known > 1 else ""
    return f"{_times(spread.mean)}{several}" + (f", {spread.known} of {spread.of}" if spread.known < spread.of else "")


def _times(ratio_: float) -> str:
    return f"{ratio_:.2f}" if ratio_ < MANY else f"{ratio_:,.0f}"


def of_policies(compared: Comparison, family: str, place: ReplayConditions, *, ends: bool = True) -> Table:
    """All policies, the oracle and the offline bound as multiples of the best of the five.

    `ends`: with the smallest and the largest ratio.
    """
    needs: list[tuple[str, Needs]] = [(one.name, compared.of(one)) for one in compared.policies]
    needs += [(ORACLE, oracle), (BOUND, bound)]
    rows = [
        [name] + [shown(compared.spread(family, place, rate, need), ends=ends) for rate in compared.stale_rates]
        for name, need in needs
    ]
    return ["policy", *map(percent, compared.stale_rates)], _told(rows)


def of_references(compared: Comparison, family: str) -> Table:
    """The policy in detail over the best of the five, `fixed`, the oracle and the offline bound."""
    subject = compared.subject
    assert subject is not None
    others: list[tuple[str, Needs | None]] = [("the best of the five", None)]
    if compared.fixed is not None:
        others.append(("fixed", compared.of(compared.fixed)))
    others += [("the oracle", oracle), ("the offline bound", bound)]
    rows = []
    for place in compared.places:
        for name, other in others:
            spreads = (
                compared.spread(family, place, rate, compared.of(subject), other) for rate in compared.stale_rates
            )
            rows.append([str(place), name, *map(shown, spreads)])
    return ["caches, histories", "over", *map(percent, compared.stale_rates)], rows


def of_cases(compared: Comparison, cache: Cache) -> Table:
    """The policy in detail over the best of the five in each case."""
    subject = compared.subject
    assert subject is not None
    knowns = list(dict.fromkeys(place.known for place in compared.places))
    rows = []
    for family in compared.families:
        outcomes = {known: compared.among(family, cache, known) for known in knowns}
        for i, first in enumerate(outcomes[knowns[0]]):
            cells = []
            for known in knowns:
                outcome = outcomes[known][i]
                for rate in compared.stale_rates:
                    best = compared.best_of_five(outcome, rate)
                    spread = Spread.among([ratio(compared.of(subject)(outcome, rate), best)])
                    cells.append(NOT_COMPARED if best is None else shown(spread))
            rows.append([f"{family}: {first.setting.case.name}", f"{first.cached:,}", *cells])
    heads = [f"{known}, {percent(rate)}" for known in knowns for rate in compared.stale_rates]
    return ["trace", "requests with a copy", *heads], rows


def of_kinds(compared: Comparison, family: str) -> Table:
    """The policy in detail over the best of the five for objects of each kind."""
    subject = compared.subject
    assert subject is not None
    rows = [
        [str(place), kind]
        + [shown(compared.by_kind(family, place, rate, subject, kind)) for rate in compared.stale_rates]
        for place in compared.places
        for kind in (BURSTY, CYCLIC, MIXED)
    ]
    return ["caches, histories", "objects", *map(percent, compared.stale_rates)], rows


def of_losses(compared: Comparison, more: float, most: int) -> tuple[Table, int]:
    """The largest losses of the policy in detail, at most `most`, and how many there are."""
    subject = compared.subject
    assert subject is not None
    losses = list(compared.losses(subject, more))
    rows: list[Sequence[str]] = []
    for loss in losses[:most]:
        setting = loss.outcome.setting
        trace = f"{setting.case.family}: {setting.case.name}"
        place = ReplayConditions(setting.cache, setting.known)
        rows.append([trace, str(place), percent(loss.stale_rate), f"{loss.ratio:.2f}"])
    return (["trace", "caches, histories", "stale hits", "over the best of the five"], rows), len(losses)


def of_first_day(compared: Comparison, family: str, *, ends: bool = True) -> Table:
    """All policies on the first day: stale hits at the validations of `ttl`, as multiples of its own."""
    caches = list(dict.fromkeys(outcome.setting.cache for outcome in compared.outcomes))
    rows = [
        [one.name]
        + [
            shown(compared.first_day(family, cache, rate, one), ends=ends)
            for cache in caches
            for rate in compared.stale_rates
        ]
        for one in compared.policies
    ]
    heads = [f"{cache}, {percent(rate)}" for cache in caches for rate in compared.stale_rates]
    return ["policy", *heads], _told(rows)


def _told(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return the rows with a ratio."""
    return [row for row in rows if not {NOT_REACHED, NOT_COMPARED}.issuperset(row[1:])]


def has_first_day(compared: Comparison) -> bool:
    """Whether first days were replayed."""
    return any(outcome.setting.known is Known.FIRST_DAY for outcome in compared.outcomes)
