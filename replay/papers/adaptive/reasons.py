"""Why plain TTL is hard to beat at low stale rates with one shared cache: hypotheses, each tested by a replay."""


from collections.abc import Mapping

import numpy as np

from bestbefore.policies.models.history import DAY_S, HOUR_S
from bestbefore.policies.validation.spec import parse_spec
from bestbefore.replay.counts import Counts
from bestbefore.replay.engines import Engines
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
from bestbefore.replay.papers.adaptive.words import number, ratio, share
from bestbefore.replay.papers.page import Page
from bestbefore.replay.papers.work import Work
from bestbefore.replay.scenario import Cache

TRAINING_DAYS = 8
TEST_START_S = ORIGIN_S + TRAINING_DAYS * DAY_S
TUNING = values_between(0.004, 0.4, 13)
CURVES = (TTL, AGGHIST, INDHIST, INDTTL_DAY)
STALE_RATES = (0.01, 0.02, 0.05)
SEED = 2004
ALMOST_NOTHING = 1e-9
"""A theta at which a copy is served only in hours without any update."""
TOP = 8
RECORDED = "as recorded"
KNOWN_HOURS = "(a) no update in an hour unknown from training"
BEFOREHAND = "(b) the same 15 days as history"
NO_BURSTS = "(c) no update within 1 h of another"
BOTH = "(b) and (c)"

Multiples = tuple[Mapping[float, float | None], Mapping[tuple[float, str], float | None]]
"""By stale rate the validations of TTL as a share, and by stale rate and policy those of all as multiples of TTL's."""


def write(work: Work, page: Page, whole: Paired) -> None:
    """The section of the reasons."""
    page.section("Why plain TTL is hard to beat with one shared cache")
    page.text(
        """In the table above IndHist and both adaptive policies, which are well ahead of TTL with a cache for each
        client, end at 1 to 2 % stale hits with one cache for all, whatever their theta; AggHist alone is better than
        TTL throughout, and not by much. Each reason that we thought of was tested by a replay in which it alone is
        gone."""
    )
    _write_concentration(page, whole)
    rest = whole.only({*whole.classes} - {*whole.most_requested()[:1]})
    _write_unknown_hours(page, rest)
    _write_conclusion(page, _write_variants(work, page, rest))


def _write_concentration(page: Page, whole: Paired) -> None:
    engine = Engines(whole.scenario(Cache.SHARED, TRAINING_DAYS))
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
    counted = Engines(scenario).replay_objects(parse_spec(f"indhist:theta={ALMOST_NOTHING}"))
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


def _write_variants(work: Work, page: Page, rest: Paired) -> dict[str, Multiples]:
    """The table of replays, and by its rows what the conclusion quotes."""
    rng = np.random.default_rng(SEED)
    beforehand, earlier_s = known_beforehand(rest)
    no_bursts = changed(rest, without_bursts(HOUR_S))
    known_without_bursts, _ = known_beforehand(no_bursts)
    traces: dict[str, tuple[Paired, float]] = {
        RECORDED: (rest, ORIGIN_S),
        **{f"only {name} objects": (rest.of_class(name), ORIGIN_S) for name in sorted({*rest.classes.values()})},
        KNOWN_HOURS: (changed(rest, in_known_hours(TEST_START_S)), ORIGIN_S),
        BEFOREHAND: (beforehand, earlier_s),
        NO_BURSTS: (no_bursts, ORIGIN_S),
        BOTH: (known_without_bursts, earlier_s),
        "(d) updates at their hour, on random days": (changed(rest, redated(rng)), ORIGIN_S),
        "(e) gaps between updates shuffled": (changed(rest, shuffled(rng)), ORIGIN_S),
    }
    found = {what: _multiples(work, trace, origin_s, what) for what, (trace, origin_s) in traces.items()}
    page.text(
        """**What each property of the updates is worth.** One cache, without the most requested object. For each
        share of stale hits: the validations of TTL as a share of the requests that found a copy, and of the others as
        multiples of those of TTL (below 1 is better than TTL). In (a) those updates of the test are left out that
        come in an hour of the day in which none came in the training; in (b) the histories begin 15 days earlier,
        with the same updates, so that they know the hours to come; in (c) of updates within an hour of each other
        only the first is left; (d) keeps hours and no bursts over days, (e) keeps bursts and no hours:"""
    )
    heads = [f"{share(rate)} stale: {curve.name}" for rate in STALE_RATES for curve in CURVES]
    rows = []
    for what, (ttl, multiples) in found.items():
        cells = [what]
        for rate in STALE_RATES:
            cells += [share(ttl[rate]), *(number(multiples[rate, curve.name]) for curve in CURVES[1:])]
        rows.append(cells)
    page.table(("updates", *heads), rows)
    return found


def _multiples(work: Work, trace: Paired, origin_s: float, what: str) -> Multiples:
    scenario = trace.scenario(Cache.SHARED, TRAINING_DAYS, origin_s)
    series = series_of_curves(work, scenario, CURVES, TUNING, what)
    needed = {
        (rate, one.name): at(one, STALE_RATE, rate, VALIDATION_RATE) for rate in STALE_RATES for one in series
    }
    ttl = {rate: needed[rate, TTL.name] for rate in STALE_RATES}
    return ttl, {(rate, name): ratio(value, ttl[rate]) for (rate, name), value in needed.items()}


def _write_conclusion(page: Page, found: Mapping[str, Multiples]) -> None:
    def shown(what: str, name: str) -> str:
        return " / ".join(number(found[what][1][rate, name]) for rate in STALE_RATES)

    ind, agg = INDHIST.name, AGGHIST.name
    page.text("**The conclusion.** Multiples of TTL's validations are given for 1, 2 and 5 % stale hits:")
    page.items(
        f"""The model is right and the histories are short. In eight days an object with ten or twenty updates shows few
        of its hours. As recorded IndHist needs {shown(RECORDED, ind)} of TTL's validations. Without the updates in
        hours unknown from training (a) it is {shown(KNOWN_HOURS, ind)}, with the hours known beforehand (b)
        {shown(BEFOREHAND, ind)}. AggHist, which knows the hours of all objects, has no such floor:
        {shown(RECORDED, agg)} as recorded.""",
        """One cache for all shows that floor, a cache for each client hides it. A missed update makes the next few
        requests of a client stale; in one cache it does so for all requests of everybody until the next validation,
        and objects with few updates are among those that are asked for most.""",
        f"""Bursts are where TTL is good. Without updates within an hour of each other (c) AggHist needs
        {shown(NO_BURSTS, agg)}; with the hours known as well, IndHist needs {shown(BOTH, ind)}. (The paper finds up to
        60 % fewer for its cyclic objects.)""",
        """Differences of a few hundredths mean nothing: a few objects have most of the stale hits, so that one
        validation sooner or later moves a whole curve.""",
        """For use: with one cache `agghist` is the choice for low stale rates; `indhist` and the adaptive policies are
        for rates of some per cent, or for objects with some hundred updates.""",
    )
