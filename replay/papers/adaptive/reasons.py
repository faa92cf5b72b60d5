"""Why plain TTL is hard to beat at low stale rates with one shared cache: hypotheses, each tested by a replay."""


import numpy as np

from bestbefore.policies.models.history import DAY_S, HOUR_S
from bestbefore.policies.validation.spec import parse_spec
from bestbefore.replay.counts import Counts
from bestbefore.replay.fast import FastReplay
from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST,
    INDHIST,
    INDTTL_DAY,
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    at,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.adaptive.variants import (
    changed,
    first_of_their_hour,
    in_known_hours,
    known_beforehand,
    redated,
    shuffled,
    without_bursts,
)
from bestbefore.replay.papers.adaptive.words import multiple, share
from bestbefore.replay.papers.page import Page
from bestbefore.replay.papers.work import Work
from bestbefore.replay.scenario import Cache

TRAINING_DAYS = 8
TEST_START_S = ORIGIN_S + TRAINING_DAYS * DAY_S
TUNING = values_between(0.005, 1.0, 9)
CURVES = (TTL, AGGHIST, INDHIST, INDTTL_DAY)
STALE_RATES = (0.01, 0.02, 0.05)
SEED = 2004
ALMOST_NOTHING = 1e-9
"""A theta at which a copy is served only in hours without any update."""
TOP = 8


def write(work: Work, page: Page, whole: Paired) -> None:
    """The section of the reasons."""
    page.section("Why plain TTL is hard to beat with one shared cache")
    _write_concentration(page, whole)
    rest = whole.only({*whole.classes} - {*whole.most_requested()[:1]})
    _write_unknown_hours(page, rest)
    _write_variants(work, page, rest)


def _write_concentration(page: Page, whole: Paired) -> None:
    engine = FastReplay(whole.scenario(Cache.SHARED, TRAINING_DAYS))
    specs = ("ttl:alpha=0.05", "agghist:theta=0.05", "indhist:theta=0.05")
    counted = [engine.replay_objects(parse_spec(spec)) for spec in specs]
    totals = [Counts.total(counts.values()) for counts in counted]
    page.text(
        """**The stale hits are those of a few objects.** Each update of an object that is asked for several times a
        minute is a stale hit for every request until the next validation. One cache, all objects; the share of all
        requests, stale hits and validations that belongs to each of the most requested objects:"""
    )
    updates = whole.updates.times_by_object()
    rows = []
    for name in whole.most_requested()[:TOP]:
        own = [counts.get(name, Counts.total([])) for counts in counted]
        cells = [share(own[0].requests / (totals[0].requests or 1))]
        for counts, total in zip(own, totals, strict=True):
            cells += [share(counts.stale_hits / (total.stale_hits or 1))]
            cells += [share(counts.validations / (total.validations or 1))]
        rows.append((f"`{name}`", whole.classes.get(name, ""), str(len(updates.get(name, ()))), *cells))
    heads = [f"{what}, {spec}" for spec in specs for what in ("stale hits", "validations")]
    page.table(("object", "class", "updates", "requests", *heads), rows)


def _write_unknown_hours(page: Page, rest: Paired) -> None:
    scenario = rest.scenario(Cache.SHARED, TRAINING_DAYS)
    counted = FastReplay(scenario).replay_objects(parse_spec(f"indhist:theta={ALMOST_NOTHING}"))
    rows = []
    for name in (*sorted({*rest.classes.values()}), None):
        members = {object_ for object_, own in rest.classes.items() if name in (own, None)}
        new, updates = _new_hours(rest, members)
        total = Counts.total(counts for object_, counts in counted.items() if object_ in members)
        cached = total.cached or 1
        rows.append((name or "all", f"{updates:,}", share(new / updates if updates else None),
                     share(total.stale_hits / cached), share(total.validations / cached)))
    page.text(
        """**IndHist has a floor.** In an hour of the day in which an object never changed its rate is 0, and no theta
        makes IndHist validate for it. The updates of the test that come in such an hour are few, but the objects that
        are asked for most have ten or twenty updates in all, spread over as many hours. Without the most requested
        object, one cache, theta so small that IndHist validates at each request in any other hour:"""
    )
    heads = ("class", "updates in the test", "in an hour without one before", "stale hits of IndHist", "validations")
    page.table(heads, rows)


def _new_hours(trace: Paired, objects: set[str]) -> tuple[int, int]:
    """Of the updates of these objects in the test, how many come in an hour of the day without one before; and all."""
    new = updates = 0
    for name, times_s in trace.updates.times_by_object().items():
        if name in objects:
            tested = times_s >= TEST_START_S
            new += int(first_of_their_hour(times_s)[tested].sum())
            updates += int(tested.sum())
    return new, updates


def _write_variants(work: Work, page: Page, rest: Paired) -> None:
    rng = np.random.default_rng(SEED)
    beforehand, earlier_s = known_beforehand(rest)
    no_bursts = changed(rest, without_bursts(HOUR_S))
    known_without_bursts, _ = known_beforehand(no_bursts)
    traces: dict[str, tuple[Paired, float]] = {
        "as recorded": (rest, ORIGIN_S),
        **{f"only {name} objects": (rest.of_class(name), ORIGIN_S) for name in sorted({*rest.classes.values()})},
        "(a) no update in an hour unknown before": (changed(rest, in_known_hours(TEST_START_S)), ORIGIN_S),
        "(b) the same 15 days as history": (beforehand, earlier_s),
        "(c) no update within 1 h of another": (no_bursts, ORIGIN_S),
        "(b) and (c)": (known_without_bursts, earlier_s),
        "(d) updates at their hour, on random days": (changed(rest, redated(rng)), ORIGIN_S),
        "(e) gaps between updates shuffled": (changed(rest, shuffled(rng)), ORIGIN_S),
    }
    rows = [(what, *_cells(work, trace, origin_s, what)) for what, (trace, origin_s) in traces.items()]
    page.text(
        """**What each property of the updates is worth.** One cache, without the most requested object. For each share
        of stale hits: the validations of TTL as a share of the requests that found a copy, and of the others as
        multiples of those of TTL (below 1 is better than TTL):"""
    )
    heads = [f"{share(rate)} stale: {name}" for rate in STALE_RATES for name in ("TTL", *(c.name for c in CURVES[1:]))]
    page.table(("updates", *heads), rows)


def _cells(work: Work, trace: Paired, origin_s: float, what: str) -> list[str]:
    scenario = trace.scenario(Cache.SHARED, TRAINING_DAYS, origin_s)
    series = series_of_curves(work, scenario, CURVES, TUNING, what)
    cells = []
    for rate in STALE_RATES:
        ttl, *others = (at(one, STALE_RATE, rate, VALIDATION_RATE) for one in series)
        cells += [share(ttl), *(multiple(other, ttl) for other in others)]
    return cells
