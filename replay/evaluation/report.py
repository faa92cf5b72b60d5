"""The page of an evaluation. Its words are computed from the figures."""

from collections.abc import Mapping, Sequence

from bestbefore.policies.units import DAY_S
from bestbefore.replay.evaluation import tables, targets
from bestbefore.replay.evaluation.comparison import LEAST_STALE, LEAST_VALIDATIONS, Comparison, ReplayConditions
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.evaluation import SETTLED_S
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.report.page import Page

EQUAL = 0.02
"""Ratios that differ from 1 by at most this count as equal."""
MOST_LOSSES = 40


def write(page: Page, compared: Comparison, made_from: str, spent: str) -> None:
    """Write all sections; `made_from` describes the traces, `spent` the processor time."""
    subject = compared.subject
    rates = ", ".join(map(percent, compared.stale_rates))
    page.title("Policies at equal stale rates")
    page.text(
        made_from,
        f"""Each policy is replayed at several values of one parameter. Its validations at a stale rate (stale hits over
        the requests that found a copy) of {rates} are interpolated linearly in logarithms. They are shown as multiples
        of those of the best of the five policies of the paper in the same setting: 1.00 is equal, less is better.
        Settings in which that one needs fewer than {LEAST_VALIDATIONS} validations are left out. Over several traces
        the mean is geometric, with the smallest and the largest ratio in parentheses. The offline bound is the fewest
        validations that any policy could need at that stale rate with all updates known, also the future ones; the
        oracle has no stale hit.""",
        spent,
    )
    page.caption()
    for family in compared.families:
        page.section(f"All policies: {family}")
        for place in compared.places:
            page.text(f"**{str(place).capitalize()}.** {verdict(compared, family, place)}")
            page.table(*tables.of_policies(compared, family, place), captioned=False)
    if subject is None:
        return
    for family in compared.families:
        criteria = targets.criteria(compared, family)
        page.section(f"Criteria for the default: {family}")
        page.text(
            f"""{targets.verdict(subject.name, criteria)} Measured are geometric means, with the smallest and the
            largest ratio; a stale rate that is not reached on each trace is a criterion that is not met."""
        )
        page.table(*targets.of_criteria(criteria), words=3, captioned=False)
        held = targets.of_held(compared, family)
        if held[1]:
            page.section(f"Stale rates that are to be held: {family}")
            page.text(
                f"""The price of `{subject.name}` is controlled so that a target share of the requests that find a copy
                are stale hits. Measured is that share after the first {SETTLED_S / DAY_S:g} days, as its difference
                from the target over the target. A target is held if it is on each trace within {targets.HELD:.0%}.
                Traces in which it allows fewer than {LEAST_STALE} stale hits are left out."""
            )
            page.table(*held, words=2, captioned=False)
        page.section(f"`{subject.name}` over the best of the five, `fixed`, the oracle and the offline bound: {family}")
        page.table(*tables.of_references(compared, family), words=2, captioned=False)
        page.section(f"`{subject.name}` by the kind of objects: {family}")
        page.table(*tables.of_kinds(compared, family), words=2, captioned=False)
    page.section("Each trace")
    page.text(f"`{subject.name}` over the best of the five; –: too few validations to compare.")
    for cache in dict.fromkeys(place.cache for place in compared.places):
        page.text(f"**Cache: {cache}.**")
        page.table(*tables.of_cases(compared, cache), captioned=False)
    losses, n = tables.of_losses(compared, 1.0 + EQUAL, MOST_LOSSES)
    page.section("Where it needs more than the best of the five")
    page.text(
        f"""In {n} of {compared.compared()} comparisons `{subject.name}` needs more than {1.0 + EQUAL:.2f} times the
        validations of the best of the five{f'; the {MOST_LOSSES} largest' if n > MOST_LOSSES else ''}."""
    )
    if n:
        page.table(*losses, words=3, captioned=False)
    if tables.has_first_day(compared):
        for family in compared.families:
            page.section(f"The first day: {family}")
            page.text(
                """The first 24 hours, with nothing known before. The stale hits of each policy with as many validations
                as `ttl` needs for the given stale rate, as multiples of the stale hits of `ttl` (half a hit is
                added to both)."""
            )
            page.table(*tables.of_first_day(compared, family), captioned=False)


def verdict(compared: Comparison, family: str, place: ReplayConditions) -> str:
    """Say how the policy in detail compares with the best of the five and with `fixed`."""
    subject = compared.subject
    if subject is None:
        return ""
    said = []
    for name, other in (("the best of the five", None), ("`fixed`", compared.fixed)):
        if name == "`fixed`" and other is None:
            continue
        need = None if other is None else compared.of(other)
        spreads = {
            rate: compared.spread(family, place, rate, compared.of(subject), need) for rate in compared.stale_rates
        }
        said.append(f"Compared with {name}, `{subject.name}` needs {words(spreads)}.")
    return " ".join(said)


def words(spreads: Mapping[float, Spread | None]) -> str:
    """Say whether ratios are below, at or above 1, by the geometric means.

    >>> words({0.01: Spread(0.5, 0.4, 0.6, 6, 6), 0.1: Spread(1.01, 0.9, 1.1, 6, 6), 0.2: None})
    'fewer validations at 1 %; as many at 10 %; unknown at 20 %'
    """
    found: dict[str, list[str]] = {"fewer validations": [], "as many": [], "more": [], "unknown": []}
    for rate, spread in spreads.items():
        if spread is None or not spread.known:
            key = "unknown"
        elif abs(spread.mean - 1.0) <= EQUAL:
            key = "as many"
        else:
            key = "fewer validations" if spread.mean < 1.0 else "more"
        found[key].append(percent(rate))
    return "; ".join(f"{key} at {listed(rates)}" for key, rates in found.items() if rates)


def listed(texts: Sequence[str]) -> str:
    """Join texts by commas and a last "and".

    >>> listed(["1 %", "2 %", "5 %"])
    '1 %, 2 % and 5 %'
    """
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
