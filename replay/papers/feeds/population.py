"""The population of feeds: the distribution of postings (figure 7), and burstiness."""

from collections.abc import Mapping

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.feeds.spans import (
    LEARN_DAYS,
    PAPER_DAILY,
    PAPER_FEEDS,
    PAPER_POSTINGS_A_WEEK,
    SPAN_DAYS,
    Spans,
)
from bestbefore.replay.report.page import Page

ENOUGH = 10
"""The least number of postings for an estimate of burstiness."""


def burstiness(times_s: FloatArray) -> float:
    """The burstiness (s - m) / (s + m) of two or more postings, from mean m and standard deviation s of their gaps.

    It is -1 for regular postings, 0 for a Poisson process, and tends to 1 for bursts. Source: Goh, Barabasi,
    "Burstiness and memory in complex systems" (EPL 81, 2008).
    """
    gaps = np.diff(times_s)
    mean, deviation = float(gaps.mean()), float(gaps.std())
    return (deviation - mean) / (deviation + mean)


def write(page: Page, sets: Mapping[str, Spans]) -> None:
    """Write the section on the population."""
    page.section("The feeds, and figure 7")
    page.text(
        f"""The paper watched {PAPER_FEEDS:,} feeds over three months; {PAPER_DAILY:,} of them posted once a day or
        more, all together {PAPER_POSTINGS_A_WEEK:,} postings a week. Our traces (feeds proper; commits, of a repository
        or of one author; releases, of a package) are cut into spans of {SPAN_DAYS} days, {LEARN_DAYS} to learn from and
        {SPAN_DAYS - LEARN_DAYS} to be judged by, and each span of an object with a posting is a feed. All postings
        together come from far rarer feeds than the paper's. So beside `all` there is `like the paper`: spans drawn so
        that their numbers of postings follow a power law in which the printed share posts daily. (Spans with more than
        2,047 postings are too few to be drawn, hence its lower mean.) Burstiness is that of Goh and Barabasi: -1 for
        regular postings, 0 for a Poisson process, 1 for bursts; of feeds with {ENOUGH} postings or more."""
    )
    paper_mean = PAPER_POSTINGS_A_WEEK * SPAN_DAYS / 7 / PAPER_FEEDS
    rows = [("the paper", f"{PAPER_FEEDS:,}", f"{PAPER_POSTINGS_A_WEEK * 13:,}", f"{paper_mean:.0f}",
             f"{100 * PAPER_DAILY / PAPER_FEEDS:.0f} %", "–", "–", "–")]
    for name, spans in sets.items():
        bursty = [burstiness(times) for times in spans.times_s if times.size >= ENOUGH]
        low, middle, high = np.quantile(spans.numbers, (0.1, 0.5, 0.9))
        rows.append((
            f"`{name}`", f"{len(spans):,}", f"{spans.numbers.sum():,}", f"{spans.numbers.mean():.1f}",
            f"{100 * np.mean(spans.numbers >= SPAN_DAYS):.1f} %", f"{low:.0f}, {middle:.0f}, {high:.0f}",
            f"{100 * np.mean(spans.learnt == 0):.0f} %",
            ", ".join(f"{value:.2f}" for value in np.quantile(bursty, (0.1, 0.5, 0.9))) if bursty else "–",
        ))
    page.table(("feeds", "number", "postings", "mean", "daily or more", "postings: q10, q50, q90",
                "nothing to learn from", "burstiness: q10, q50, q90"), rows)
    lines = []
    for name, spans in sets.items():
        counted = np.sort(spans.numbers)[::-1]
        at = np.unique(np.geomspace(1, counted.size, 60).astype(int)) - 1
        shares = zip(counted[at].tolist(), ((at + 1) / counted.size).tolist(), strict=True)
        lines.append(Line(name, [(float(x), float(y)) for x, y in shares]))
    page.figure("figure_7", "Figure 7, cumulated: the share of feeds with at least so many postings in 90 days",
                drawn(lines, Scale("postings in 90 days", logarithmic=True), Scale("share of feeds", logarithmic=True)))
