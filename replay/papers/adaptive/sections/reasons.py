"""The reasons why TTL is hard to surpass at low stale rates with one shared cache, each measured by replays."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.curves import AGGHIST, INDHIST
from bestbefore.replay.papers.adaptive.multiples import BOUNDED, CURVES, Cells, bounds, cells, sampled
from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.adaptive.variants import (
    REPEATED,
    changed,
    first_of_their_hour,
    independent,
    known_beforehand,
    shuffled,
)
from bestbefore.replay.papers.adaptive.words import share
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
RECORDED = "as recorded"
SAMPLED = "as recorded, resampled objects: from the 10th to the 90th percentile"
CLIENTS = "a cache for each client"
RATES_KNOWN = "rates known beforehand"
NO_BURSTS = "independent updates"
BOTH = "independent updates, rates known"
NO_HOURS = "gaps between updates shuffled"
OBSERVED = "histories observed by the proxy alone"


def write(work: Work, page: Page, whole: Paired) -> None:
    """Write the section on the reasons."""
    page.section("Why plain TTL is hard to beat with one shared cache")
    answer = page.part()
    most_requested = whole.most_requested()[:1]
    rest = whole.only({*whole.classes} - {*most_requested})
    first_requests, floor = _write_caches(page, rest)
    least_known, *_, busiest = _write_histories(work, page, rest)
    found = _write_variants(work, page, rest)
    page.text("**What a bound is worth.** One cache; all cells are multiples of TTL without a bound:")
    page.table(*bounds(work, rest.scenario(Cache.SHARED, TRAINING_DAYS)))
    ind, agg, bounded = INDHIST.name, AGGHIST.name, BOUNDED.name
    answer.text(
        f"""Validations are compared at 1 / 2 / 5 % stale hits, as multiples of TTL's; all numbers here are without
        object `{"".join(most_requested)}`. With a cache for each client IndHist needs {found[CLIENTS][ind]}. With one
        cache for all no theta takes it below {floor} stale hits, and it needs {found[RECORDED][ind]}; AggHist
        {found[RECORDED][agg]}. Why:"""
    )
    answer.items(
        f"""**With one cache a missed update affects more requests.** {first_requests} of its requests that find a copy
        are the first of their client. In a cache of the client's own they would be misses, and fresh.""",
        f"""**IndHist never validates in an hour in which it knows no update.** {least_known.requests} of the requests
        are for objects with fewer than ten known updates, for which that is most of the day. With `max_ttl=1h` IndHist
        needs {found[RECORDED][bounded]}.""",
        f"""**Some objects change often.** Of the requests for objects with 200 known updates and
        more {busiest.changed} find a change; {busiest.validations} of TTL's validations are theirs, and there AggHist
        needs {busiest.cells[agg]}. For objects with fewer than ten known updates it needs {least_known.cells[agg]}.""",
        f"""**Training has eight days.** With rates known beforehand IndHist would need
        {found[RATES_KNOWN][ind]}. TTL is thought to be good in bursts. With independent updates
        AggHist needs {found[NO_BURSTS][agg]}, and IndHist with rates known {found[BOTH][ind]}. The advantage of
        histories over TTL is the pattern of the day: with gaps shuffled, which destroys it, AggHist needs
        {found[NO_HOURS][agg]}.""",
        f"""**A proxy knows even less,** and TTL loses nothing by that, since each contact shows the last update. With
        the histories that its own contacts show, AggHist needs {found[OBSERVED][agg]}, IndHist {found[OBSERVED][ind]},
        and IndHist with `max_ttl=1h` {found[OBSERVED][bounded]}.""",
    )
    answer.text(
        """For use, behind one cache: give `indhist` or `agghist` a `max_ttl`, of about an hour for 1 or 2 % stale hits,
        of some hours for 5 %; the default of a day changes nothing. (The bounds were chosen on the very days they are
        measured on.) The row with resampled objects shows what a difference of some hundredths means."""
    )


def _write_caches(page: Page, rest: Paired) -> tuple[str, str]:
    """Write the table of the floor; return the share of first requests of a client, and the floor with one cache."""
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
    return share(1 - client.cached / shared.cached if shared.cached else None), rows[-1][3]


@dataclass(frozen=True, slots=True)
class ByHistory:
    """A row of the table: objects with similar numbers of known updates, and their shares."""

    known: str
    objects: str
    requests: str
    validations: str
    changed: str
    new_hours: str
    cells: Cells


def _write_histories(work: Work, page: Page, rest: Paired) -> list[ByHistory]:
    """Write the table of objects by the length of their histories, and return its rows."""
    scenario = rest.scenario(Cache.SHARED, TRAINING_DAYS)
    typical = Engines(scenario).replay_objects(parse_spec(TYPICAL))
    oracle = Engines(scenario).replay_objects(parse_spec("oracle"))
    total = Counts.total(typical.values())
    rows = []
    for known, members in _by_known_updates(rest).items():
        own = Counts.total(counts for name, counts in typical.items() if name in members)
        least = Counts.total(counts for name, counts in oracle.items() if name in members)
        new, updates = _new_hours(rest, members)
        rows.append(ByHistory(
            known,
            str(len(members)),
            share(own.requests / (total.requests or 1)),
            share(own.validations / (total.validations or 1)),
            share(least.validations / (least.cached or 1)),
            share(new / updates if updates else None),
            cells(work, rest.only(members).scenario(Cache.SHARED, TRAINING_DAYS), f"{known} updates known"),
        ))
    page.text(
        """**By what is known of an object when the test begins.** One cache. For 1 / 2 / 5 % stale hits: the
        validations of TTL as a share of the requests that found a copy, and of the others as multiples of TTL's (– : no
        parameter gives it; with `max_ttl=1h`, because all are fresher). The oracle, which knows the future, validates
        only what has changed. The group of AggHist are the objects of the row."""
    )
    heads = ("updates known", "objects", "requests", f"validations of `{TYPICAL}`", "validations of the oracle",
             "updates in an hour of the day without one before", *(curve.name for curve in CURVES))
    page.table(
        heads,
        [
            (row.known, row.objects, row.requests, row.validations, row.changed, row.new_hours, *row.cells.values())
            for row in rows
        ],
    )
    return rows


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


def _write_variants(work: Work, page: Page, rest: Paired) -> dict[str, Cells]:
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
    found = {what: cells(work, scenario, what) for what, scenario in scenarios.items()}
    page.text(
        f"""**With one thing changed.** One cache, except in the row of the clients' caches; cells as above. Resampled
        objects: as many of the same objects, with repetition, {SAMPLES} times. Rates known: the same fifteen days came
        {REPEATED} times before. Independent: updates are drawn, with the object's mean rate in each hour of the day, so
        that there are no bursts. Shuffled: gaps keep their lengths and lose the hours of the day. Observed: what
        contacts show, at each whether the object changed and when last."""
    )
    rows = [(what, *row.values()) for what, row in found.items()]
    rows.insert(1, (SAMPLED, *sampled(work, recorded, SAMPLES, rng).values()))
    page.table(("", *(curve.name for curve in CURVES)), rows)
    return found
