"""The reasons why TTL is hard to surpass at low stale rates with one shared cache, each measured by replays."""

import math
from collections.abc import Collection, Mapping

import numpy as np

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.curves import AGGHIST, INDHIST, TTL
from bestbefore.replay.papers.adaptive.formatting import NOT_REACHED, share
from bestbefore.replay.papers.adaptive.multiples import (
    BOUNDED,
    BOUNDED_POLICIES,
    CURVES,
    STALE_RATES,
    Multiples,
    bounds,
    cells,
    joined,
    multiples,
    sampled,
)
from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.adaptive.sections.judged_reasons import (
    NO_BURSTS,
    NO_HOURS,
    OBSERVED,
    RATES_KNOWN,
    RECORDED,
    Floor,
    KnownHistories,
    write_reasons,
)
from bestbefore.replay.papers.adaptive.variants import (
    REPEATED,
    changed,
    first_of_their_hour,
    independent,
    known_beforehand,
    shuffled,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache

TRAINING_DAYS = 8
TEST_START_S = ORIGIN_S + TRAINING_DAYS * DAY_S
SEED = 2004
SAMPLES = 200
ALMOST_NOTHING = 1e-9
"""A theta at which a copy is served only in hours without any update."""
KNOWN_UPDATES = ((0, 10), (10, 50), (50, 200), (200, None))
"""The groups of objects by the number of updates known at the test start: [from, below)."""
TYPICAL = "ttl:alpha=0.05"
SAMPLED = "as recorded, resampled objects: from the 10th to the 90th percentile"
CLIENTS = "a cache for each client"
BOTH = "independent updates, rates known"


def write(work: Work, page: Page, whole: Paired) -> str:
    """Write the section on the reasons; return a sentence on what one cache for all clients takes."""
    page.section("Is plain TTL hard to beat with one shared cache?")
    answer = page.part()
    most_requested = whole.most_requested()[:1]
    rest = whole.only({*whole.classes} - {*most_requested})
    caches = _write_caches(page, rest)
    least_known, *_, busiest = _write_histories(work, page, rest)
    found = _write_variants(work, page, rest)
    page.text("**What a bound is worth.** One cache; all cells are multiples of TTL without a bound:")
    bounded = bounds(work, rest.scenario(Cache.SHARED, TRAINING_DAYS))
    page.table(
        ("max_ttl", *(policy.name for policy in BOUNDED_POLICIES)),
        [(f"`{bound}`", *(joined(one) for one in row.values())) for bound, row in bounded.items()],
    )
    recorded = found[RECORDED]
    needed = (
        f"IndHist needs {joined(recorded[INDHIST.name])} times the validations of TTL at 1 / 2 / 5 % stale hits, "
        f"AggHist {joined(recorded[AGGHIST.name])}, and IndHist with `max_ttl=1h` {joined(recorded[BOUNDED.name])}"
    )
    answer.text(
        f"""Validations are compared at 1 / 2 / 5 % stale hits, as multiples of TTL's; all numbers here are without
        object `{"".join(most_requested)}`. With a cache for each client IndHist needs
        {joined(found[CLIENTS][INDHIST.name])}. With one cache for all, {needed}. The first column has what may be the
        reason, the last whether it is one; a rate that a policy does not reach is more than any other."""
    )
    write_reasons(answer, caches, least_known, busiest, found)
    answer.text(
        f"""For use, behind one cache, the fewest validations at 1 / 2 / 5 % stale hits among the bounds below have
        `agghist` with `max_ttl` {_best(bounded, AGGHIST.name)} and `indhist` with {_best(bounded, INDHIST.name)}; the
        default of a day changes them by {_change(bounded)} at most. (The bounds were chosen on the very days they
        are measured on.) The row with resampled objects shows what a difference of some hundredths means."""
    )
    return needed


def _best(bounded: Mapping[str, Multiples], name: str) -> str:
    """Format the bound with the fewest validations for each stale rate."""
    rows = [row[name] for row in bounded.values()]
    best = []
    for place in range(len(STALE_RATES)):
        values = [math.inf if (value := row[place]) is None else value for row in rows]
        best.append(list(bounded)[values.index(min(values))] if min(values) < math.inf else NOT_REACHED)
    return " / ".join(best)


def _change(bounded: Mapping[str, Multiples]) -> str:
    """Format the largest change by the default bound, a day."""
    without, day = bounded["inf"], bounded.get("1d", {})
    pairs = (pair for name in day if name != TTL.name for pair in zip(without[name], day[name], strict=True))
    return share(max((abs(b / a - 1.0) for a, b in pairs if a and b is not None), default=None))


def _write_caches(page: Page, rest: Paired) -> Floor:
    """Write the table of the floor, and return it."""
    rows, found = [], []
    for what, cache in ((CLIENTS, Cache.CLIENT), ("one cache for all", Cache.SHARED)):
        counts = Engines(rest.scenario(cache, TRAINING_DAYS)).replay(parse_spec(f"indhist:theta={ALMOST_NOTHING}"))
        found.append(counts)
        cached = counts.cached or 1
        floor = share(counts.stale_hits / cached)
        rows.append((what, f"{counts.cached:,}", f"{counts.stale_hits:,}", floor, share(counts.validations / cached)))
    page.text(
        """**The floor of IndHist.** Theta is so small that each request in an hour with a known update is validated:"""
    )
    page.table(("", "requests that found a copy", "stale hits", "stale hits, share", "validations, share"), rows)
    client, shared = found
    stale = (counts.stale_hits / counts.cached if counts.cached else None for counts in found)
    return Floor(1 - client.cached / shared.cached if shared.cached else None, *stale)


def _write_histories(work: Work, page: Page, rest: Paired) -> list[KnownHistories]:
    """Write the table of objects by the length of their histories, and return its rows."""
    scenario = rest.scenario(Cache.SHARED, TRAINING_DAYS)
    typical = Engines(scenario).replay_objects(parse_spec(TYPICAL))
    oracle = Engines(scenario).replay_objects(parse_spec("oracle"))
    total = Counts.total(typical.values())
    rows, histories = [], []
    for known, members in _by_known_updates(rest).items():
        own = Counts.total(counts for name, counts in typical.items() if name in members)
        least = Counts.total(counts for name, counts in oracle.items() if name in members)
        new, updates = _new_hours(rest, members)
        history = KnownHistories(
            own.requests / total.requests if total.requests else None,
            own.validations / total.validations if total.validations else None,
            multiples(work, rest.only(members).scenario(Cache.SHARED, TRAINING_DAYS), f"{known} updates known"),
        )
        histories.append(history)
        rows.append((
            known,
            str(len(members)),
            share(history.requests),
            share(history.validations),
            share(least.validations / (least.cached or 1)),
            share(new / updates if updates else None),
            *cells(history.found).values(),
        ))
    page.text(
        """**By what is known of an object when the test begins.** One cache. For 1 / 2 / 5 % stale hits: the
        validations of TTL as a share of the requests that found a copy, and of the others as multiples of TTL's (– : no
        parameter gives it; with `max_ttl=1h`, because all are fresher). The oracle, which knows the future, validates
        only what has changed. The group of AggHist are the objects of the row."""
    )
    heads = ("updates known", "objects", "requests", f"validations of `{TYPICAL}`", "validations of the oracle",
             "updates in an hour of the day without one before", *(curve.name for curve in CURVES))
    page.table(heads, rows)
    return histories


def _by_known_updates(trace: Paired) -> dict[str, set[str]]:
    """Return the objects of each row of the table."""
    times = trace.updates.times_by_object()
    asked = trace.requests.requested()
    known = {name: int((times[name] < TEST_START_S).sum()) if name in times else 0 for name in asked}
    return {
        f"{least} and more" if below is None else f"{least} to {below - 1}": {
            name for name, n in known.items() if n >= least and (below is None or n < below)
        }
        for least, below in KNOWN_UPDATES
    }


def _new_hours(trace: Paired, objects: Collection[str]) -> tuple[int, int]:
    """Return the number of test updates of these objects in an hour bin without an earlier update, and of all."""
    new = updates = 0
    for name, times_s in trace.updates.times_by_object().items():
        if name in objects:
            tested = times_s >= TEST_START_S
            new += int(first_of_their_hour(times_s)[tested].sum())
            updates += int(tested.sum())
    return new, updates


def _write_variants(work: Work, page: Page, rest: Paired) -> dict[str, Multiples]:
    """Write the table of replays with one change each, and return its rows."""
    rng = np.random.default_rng(SEED)
    drawn = changed(rest, independent(rng))
    known, known_drawn = known_beforehand(rest, rest), known_beforehand(drawn, rest)
    recorded = rest.scenario(Cache.SHARED, TRAINING_DAYS)
    scenarios = {
        RECORDED: recorded,
        CLIENTS: rest.scenario(Cache.CLIENT, TRAINING_DAYS),
        RATES_KNOWN: known[0].scenario(Cache.SHARED, TRAINING_DAYS, known[1]),
        NO_BURSTS: drawn.scenario(Cache.SHARED, TRAINING_DAYS),
        BOTH: known_drawn[0].scenario(Cache.SHARED, TRAINING_DAYS, known_drawn[1]),
        NO_HOURS: changed(rest, shuffled(rng)).scenario(Cache.SHARED, TRAINING_DAYS),
        OBSERVED: rest.scenario(Cache.SHARED, TRAINING_DAYS, warm=Warm.CONTACTS),
    }
    found = {what: multiples(work, scenario, what) for what, scenario in scenarios.items()}
    page.text(
        f"""**With one thing changed.** One cache, except in the row of the clients' caches; cells as above. Resampled
        objects: as many of the same objects, with repetition, {SAMPLES} times. Rates known: the same fifteen days came
        {REPEATED} times before. Independent: updates are drawn, with the object's mean rate in each hour of the day, so
        that there are no bursts. Shuffled: gaps keep their lengths and lose the hours of the day. Observed: what
        contacts show, at each whether the object changed and when last."""
    )
    rows = [(what, *cells(row).values()) for what, row in found.items()]
    rows.insert(1, (SAMPLED, *sampled(work, recorded, SAMPLES, rng).values()))
    page.table(("", *(curve.name for curve in CURVES)), rows)
    return found
