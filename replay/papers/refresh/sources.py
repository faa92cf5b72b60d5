"""Figures 14 to 17 by source: which real pages change as a Poisson process would, and how often pages change."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.papers.agreement import Agreement, in_words
from bestbefore.replay.papers.claims import NOT_SEEN, verdict
from bestbefore.replay.papers.refresh.crawled import (
    CRAWL_INTERVALS_DAYS,
    MEAN_INTERVAL_DAYS,
    REAL_FILES,
    REPEATED,
    SEED,
    Days,
    crawl,
    periods_of,
)
from bestbefore.replay.papers.refresh.shares import INTERVALS_DAYS
from bestbefore.replay.papers.refresh.synchronisation import Order, freshness
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.traces.columns.files import read_updates

NEAR = 0.1
"""The largest difference in freshness at which a source counts as near the formula."""
SHOWN_INTERVALS_DAYS = (10, 20)
"""The mean change intervals of Figure 14."""
ALIKE = 0.1
"""A page has such an interval if its mean lies within this share of it."""
EXPONENTIAL = 0.05
"""The largest difference from a Poisson process in the share of intervals up to the mean."""
PRINTED_SHARES = ("23 %", "15 %", "–", "–", "–")
"""Of Figure 17(a), the shares that the text prints."""
BARS = ("to a day", "to a week", "to a month", "to 4 months", "longer")

ChangedDays = Mapping[str, list[NDArray[np.int64]]]
"""By source: the days on which each page was seen to change, ascending."""


def changed_days(work: Work) -> ChangedDays:
    """Return the days with changes of all pages with two or more. Raises TraceError."""
    found: defaultdict[str, list[NDArray[np.int64]]] = defaultdict(list)
    for name in REAL_FILES:
        for page, times_s in read_updates(work.trace(name), work.warn).times_by_object().items():
            days = np.unique((np.asarray(times_s) // DAY_S).astype(np.int64))
            if days.size > 1:
                found[page.partition("/")[0]].append(days)
    return found


def write(work: Work, page: Page) -> list[Agreement]:
    """Write the sections on real pages by their source; nothing without traces."""
    if work.traces is None:
        return []
    days = changed_days(work)
    return [_write_sources(page, days), *_write_intervals(page, days), _write_estimates(page, days)]


def _write_sources(page: Page, days: ChangedDays) -> Agreement:
    periods = {name: [period for one in pages for period in periods_of(one)] for name, pages in sorted(days.items())}
    page.section("Figure 15 by source")
    page.text(
        f"""The real pages of Figure 15, the periods of each source alone, crawled in fixed order. A source is near the
        formula if its freshness differs by at most {NEAR:g} at each of these intervals."""
    )
    intervals = CRAWL_INTERVALS_DAYS[1:]
    formula = [freshness(Order.FIXED, interval / MEAN_INTERVAL_DAYS) for interval in intervals]
    rows = [("the formula", "–", *(f"{value:.3f}" for value in formula), "–")]
    all_near = []
    for name, some in periods.items():
        if some:
            found = _freshness(np.array(some, dtype=np.bool_), intervals)
            near = all(abs(one - other) <= NEAR for one, other in zip(found, formula, strict=True))
            all_near.append(near)
            rows.append((f"`{name}`", str(len(some)), *(f"{one:.3f}" for one in found), "yes" if near else "no"))
    page.table(("source", "periods", *(f"every {interval} d" for interval in intervals), "near the formula"), rows)
    return Agreement(
        "Figure 15", "the freshness of real pages is near the formula, sources", in_words(all_near),
        f"all within {NEAR:g}", verdict(*all_near),
    )


def _freshness(changed: Days, intervals: tuple[int, ...]) -> list[float]:
    repeated = np.repeat(changed, REPEATED, axis=0)
    return [
        crawl(Order.FIXED, interval, repeated, np.random.default_rng(SEED)).freshness for interval in intervals
    ]


def _write_intervals(page: Page, days: ChangedDays) -> list[Agreement]:
    page.section("Figure 14: change intervals of pages")
    page.text(
        f"""The paper selects the pages whose mean change interval is 10 days, or 20, and finds that their intervals are
        distributed exponentially, a straight line in this drawing. Ours are those whose mean lies within
        {100 * ALIKE:.0f} % of it, in whole days, as a daily visit sees them. *Gone by the mean* is the share of
        intervals up to the mean; a Poisson process that is visited daily has the share beside it."""
    )
    rows, lines, agreements = [], [], []
    for mean_days in SHOWN_INTERVALS_DAYS:
        own = {
            name: [np.diff(one) for one in pages if abs((one[-1] - one[0]) / (one.size - 1) / mean_days - 1.0) <= ALIKE]
            for name, pages in sorted(days.items())
        }
        gaps = [gap for of_source in own.values() for gap in of_source]
        if not gaps:
            continue
        together = np.concatenate(gaps)
        # Geometric with the mean of the data, as visits by day show a Poisson process.
        staying = 1.0 - 1.0 / max(float(together.mean()), 1.0)
        gone, poisson = float((together <= mean_days).mean()), 1.0 - staying**mean_days
        rows.append((
            f"{mean_days} d", f"{len(gaps):,}", f"{together.size:,}", f"{100 * gone:.0f} %", f"{100 * poisson:.0f} %",
        ))
        agreements.append(Agreement(
            "Figure 14", f"{mean_days} d: exponential, {100 * poisson:.0f} % gone by the mean", f"{100 * gone:.0f} %",
            f"within {100 * EXPONENTIAL:.0f} points", verdict(abs(gone - poisson) <= EXPONENTIAL),
        ))
        upto = np.arange(1, 6 * mean_days + 1)
        share = np.array([float((together == day).mean()) for day in upto])
        lines.append(Line(
            f"mean {mean_days} d", [(float(d), s) for d, s in zip(upto.tolist(), share.tolist(), strict=True) if s],
            joined=False, marked=True,
        ))
        lines.append(Line(
            f"Poisson, {mean_days} d", [(float(d), (1.0 - staying) * staying ** (d - 1)) for d in upto.tolist()]
        ))
    page.table(("mean interval", "pages", "intervals", "gone by the mean", "Poisson"), rows)
    if lines:
        page.figure("14", "Figure 14: change intervals of pages", drawn(
            lines, Scale("interval, days", with_zero=False), Scale("share of the intervals", logarithmic=True)))
    return agreements


def _write_estimates(page: Page, days: ChangedDays) -> Agreement:
    page.section("Figures 16 and 17: the fraction of pages with given average interval of change")
    page.text(
        f"""The paper divides the time of observation by the number of changes seen. Figure 16 says when that is wrong:
        several changes between two visits count as one, and a burst counts as if it were spread out. *Bursty* here are
        pages half of whose intervals are shorter than a quarter of their mean; of a Poisson process
        {100 * (1.0 - np.exp(-0.25)):.0f} % of the intervals are that short. Our sources were chosen, not crawled at
        random, so only the method is the paper's; pages without two changes are left out."""
    )
    rows: list[tuple[str, ...]] = [("the paper, all domains", "720,000", *PRINTED_SHARES, "–")]
    edges = [*INTERVALS_DAYS[:-1].tolist(), np.inf]
    everything = [one for pages in days.values() for one in pages]
    measured = ""
    for name, pages in [("all", everything), *((f"`{name}`", pages) for name, pages in sorted(days.items()))]:
        means = np.array([(one[-1] - one[0]) / (one.size - 1) for one in pages])
        bars = np.bincount(np.searchsorted(edges, means), minlength=len(BARS)) / means.size
        bursty = np.mean([_is_bursty(np.diff(one)) for one in pages])
        measured = measured or ", ".join(f"{100 * bar:.0f} %" for bar in bars[:2])
        rows.append((name, f"{means.size:,}", *(f"{100 * bar:.0f} %" for bar in bars), f"{100 * bursty:.0f} %"))
    page.table(("pages", "number", *BARS, "bursty"), rows)
    asked = f"changed every day {PRINTED_SHARES[0]}, every week {PRINTED_SHARES[1]} of the pages"
    return Agreement("Figure 17", asked, measured, "none: our sources were chosen", NOT_SEEN)


def _is_bursty(gaps: FloatArray | NDArray[np.int64]) -> bool:
    return float(np.mean(gaps < 0.25 * float(gaps.mean()))) >= 0.5
