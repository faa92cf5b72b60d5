"""Figure 15: pages that change every two weeks on average, crawled in each order, as days were recorded."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.papers.agreement import Agreement, in_words
from bestbefore.replay.papers.claims import verdict
from bestbefore.replay.papers.refresh.synchronisation import Order, age, freshness, waits
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.traces.columns.files import read_updates

Days = NDArray[np.bool_]
"""(pages, days) whether a page changed on a day; it did so at noon (section 7.3)."""

DAYS = 128
"""17 February to 24 June 1999."""
MEAN_INTERVAL_DAYS = 14
CRAWL_INTERVALS_DAYS = (1, 7, 28, 56)
"""A month is 28 days: the text gives it r = 2."""
SIMULATED_PAGES, SWEEPS, SEED = 2000, 100, 1999
REAL_FILES = ("updates_pages.csv.gz", "updates_scraped.csv.gz")
CHANGED_DAYS = range(8, 11)
"""The days with a change, of 128, of the selected real pages: once every 12.8 to 16 days."""
REPEATED = 20
CLOSE = 0.05
"""The largest difference in freshness at which a dot counts as close to the formula."""


@dataclass(frozen=True, slots=True)
class Crawled:
    """The results of a crawl in one order."""

    freshness: float
    age_days: float


def crawl(order: Order, interval_days: float, changed: Days, rng: np.random.Generator) -> Crawled:
    """Crawl all pages SWEEPS times, each once in `interval_days` on average; recorded days are repeated.

    The days of each page begin at a random phase: with a common phase the freshness of random orders would depend on
    the position of noon in a daily sweep. A page that never changed is fresh.
    """
    pages, days = changed.shape
    crawls = waits(order, pages, SWEEPS, rng)
    wait = crawls.wait * interval_days
    begins = rng.uniform(0.0, days, (pages,))
    into = (crawls.since * interval_days + begins[crawls.element]) % days
    fresh = np.minimum(_next_change(changed)[crawls.element, np.ceil(into - 0.5).astype(np.intp)] - into, wait)
    total = float(wait.sum())
    return Crawled(float(fresh.sum()) / total, float(((wait - fresh) ** 2).sum()) / 2.0 / total)


def _next_change(changed: Days) -> FloatArray:
    """(pages, days+1) the time of the next change at noon of each day or later, in days since the first midnight.

    Days are repeated; infinite for a page that never changed.
    """
    days = changed.shape[1]
    noon = np.where(np.tile(changed, 2), np.arange(2 * days) + 0.5, np.inf)
    return np.asarray(np.minimum.accumulate(noon[:, ::-1], axis=1)[:, ::-1][:, :days + 1])


def simulated_pages(rng: np.random.Generator) -> Days:
    """Simulate pages that change each day with probability 1/14, as daily visits observe of a Poisson process."""
    return rng.random((SIMULATED_PAGES, DAYS)) < 1.0 / MEAN_INTERVAL_DAYS


def real_pages(work: Work) -> Days:
    """Return periods of 128 days of real pages with `CHANGED_DAYS` changes, from the day after their first change.

    Raises TraceError.
    """
    periods = [
        period
        for name in REAL_FILES
        for times_s in read_updates(work.trace(name), work.warn).times_by_object().values()
        for period in periods_of(np.unique((np.asarray(times_s) // DAY_S).astype(np.int64)))
    ]
    return np.array(periods, dtype=np.bool_).reshape(-1, DAYS)


def periods_of(changed_days: NDArray[np.int64]) -> Iterator[Days]:
    """Yield the periods of DAYS with `CHANGED_DAYS` changes, from the day after the first of these days."""
    since = changed_days - changed_days[0] - 1
    for number in range(int(since[-1] + 1) // DAYS):
        inside = since[(since >= number * DAYS) & (since < (number + 1) * DAYS)] - number * DAYS
        if inside.size in CHANGED_DAYS:
            period = np.zeros(DAYS, np.bool_)
            period[inside] = True
            yield period


def write(work: Work, page: Page) -> list[Agreement]:
    """Write the section on crawling."""
    of_simulated, of_real = np.random.default_rng(SEED).spawn(2)  # each its own, so that neither depends on the other
    found = {"simulated": _crawls(simulated_pages(of_simulated), of_simulated)}
    page.section("Figure 15: experimental results for synchronisation-order policies")
    page.text(
        f"""The paper crawled 720,000 pages daily for {DAYS} days, took those that changed every two weeks on average
        and downloaded them, in simulation, every day, week, month (28 days, as r = 2 says) and two months. Its pages
        are not public and the figure's values are not printed; it says that "most of the dots sit closely to our
        theoretical graph". Simulated here: {SIMULATED_PAGES:,} pages of {DAYS} days, each day with a change with
        probability 1/{MEAN_INTERVAL_DAYS}, at noon as the paper assumes, {SWEEPS} sweeps over these days,
        repeated, seed {SEED}. They are a little staler than the formula because one visit a day shows one change where
        there were several: pages seen to change every 14 days change every
        {-1.0 / math.log1p(-1.0 / MEAN_INTERVAL_DAYS):.1f}."""
    )
    if work.traces is not None:
        periods = real_pages(work)
        found["real"] = _crawls(np.repeat(periods, REPEATED, axis=0), of_real)
        page.text(
            f"""*Real* are pages of our traces ({", ".join(REAL_FILES)}): {len(periods)} periods of {DAYS} days in which
            a page changed on {CHANGED_DAYS[0]} to {CHANGED_DAYS[-1]} days, each crawled {REPEATED} times over. Their
            sources differ: the next section."""
        )
    _table(page, found)
    _figure(page, found, "freshness", "freshness", freshness, lambda one: one.freshness)
    _figure(page, found, "age", "age, days", _age_days, lambda one: one.age_days)
    return [_closeness(kind, crawls) for kind, crawls in found.items()]


Crawls = dict[tuple[Order, int], Crawled]
"""The results by order and days between the crawls of a page."""


def _crawls(changed: Days, rng: np.random.Generator) -> Crawls:
    return {
        (order, interval): crawl(order, interval, changed, rng) for order in Order for interval in CRAWL_INTERVALS_DAYS
    }


def _closeness(kind: str, crawls: Crawls) -> Agreement:
    near = [
        abs(one.freshness - freshness(order, interval / MEAN_INTERVAL_DAYS)) <= CLOSE
        for (order, interval), one in crawls.items()
    ]
    return Agreement(
        "Figure 15", f"most dots of freshness are close to the formula, {kind} pages", in_words(near),
        f"more than half within {CLOSE:g}", verdict(2 * sum(near) > len(near)),
    )


def _table(page: Page, found: dict[str, Crawls]) -> None:
    rows = []
    for order in Order:
        for interval in CRAWL_INTERVALS_DAYS:
            ratio = interval / MEAN_INTERVAL_DAYS
            cells = [crawls[order, interval] for crawls in found.values()]
            rows.append((
                order.value, f"{interval} d", f"{ratio:.3g}",
                f"{freshness(order, ratio):.3f}", *(f"{one.freshness:.3f}" for one in cells),
                f"{interval * age(order, ratio):.2f}", *(f"{one.age_days:.2f}" for one in cells),
            ))
    page.table(("order", "crawled every", "r", "freshness, formula", *found, "age in days, formula", *found), rows)


def _age_days(order: Order, ratio: float) -> float:
    return MEAN_INTERVAL_DAYS * ratio * age(order, ratio)


def _figure(
    page: Page, found: dict[str, Crawls], measure: str, title: str,
    formula: Callable[[Order, float], float], value: Callable[[Crawled], float],
) -> None:
    ratios = np.geomspace(CRAWL_INTERVALS_DAYS[0], CRAWL_INTERVALS_DAYS[-1], 101) / MEAN_INTERVAL_DAYS
    lines = [Line(order.value, [(ratio, formula(order, ratio)) for ratio in ratios.tolist()]) for order in Order]
    lines += [
        Line(
            f"{order.value}, {kind} pages",
            [(days / MEAN_INTERVAL_DAYS, value(crawls[order, days])) for days in CRAWL_INTERVALS_DAYS],
            joined=False, marked=True, of=number,
        )
        for kind, crawls in found.items()
        for number, order in enumerate(Order)
    ]
    page.figure(
        f"15_{measure}", f"Figure 15: {measure} of crawled pages beside the formulas",
        drawn(lines, Scale("r = changes / refreshes", logarithmic=True), Scale(title)),
    )
