"""Table 2 (allocations of crawlers, for age and freshness), section 4.6 (bandwidth), and other weights of feeds."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.population import ENOUGH, burstiness
from bestbefore.replay.papers.feeds.runs import BOTH, ONLINE, PLANNED, STRATEGIES, UNIFORM
from bestbefore.replay.papers.feeds.spans import END_S, START_S, Spans
from bestbefore.replay.papers.feeds.strategies import divided, evenly, uniform
from bestbefore.replay.papers.printed import HEADS, beside
from bestbefore.replay.report.page import Page

COMBINED, AGE, FRESHNESS = "ours (both)", "CGM03 (age)", "CGM03 (freshness)"
PRINTED = {COMBINED: "395", AGE: "590", FRESHNESS: "40105"}
ITEMS = 12
"""The mean number of postings in a feed document, from section 4.6."""

WEIGHTS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "1: each posting counts the same": np.ones_like,
    "the feed's number of postings": lambda postings: postings,
    "1 over it: each feed counts the same": lambda postings: 1.0 / postings,
}


def write(page: Page, learnt: LearntRates) -> list[Claim]:
    """Write the sections, and return the claims with our results."""
    claims = [*_write_table_2(page, learnt), *_write_savings(page, learnt.spans)]
    _write_weights(page, learnt)
    _write_bursty(page, learnt)
    return claims


def _write_table_2(page: Page, learnt: LearntRates) -> list[Claim]:
    page.section("Table 2: allocations for crawlers")
    budget = float(len(learnt.spans))
    schedules = {
        COMBINED: STRATEGIES[BOTH](learnt, 1),
        AGE: evenly(continuous.age(learnt.rates, None, budget)),
        FRESHNESS: evenly(continuous.freshness(learnt.rates, None, budget)),
        "theorem 1 alone": divided(learnt.rates, None, 1),
        "best age, rates to come": evenly(continuous.age(learnt.rates_to_come, None, budget)),
        "theorem 1 alone, rates to come": divided(learnt.rates_to_come, None, 1),
        PLANNED: STRATEGIES[PLANNED](learnt, 1),
        ONLINE: STRATEGIES[ONLINE](learnt, 1),
    }
    found = {name: learnt.spans.measured(one) for name, one in schedules.items()}
    minutes = {name: one.mean_s / 60 for name, one in found.items()}
    page.table(("policy", *HEADS, "never retrieved"), [
        (name, *(beside(PRINTED[name], minutes[name]) if name in PRINTED else ("–", f"{minutes[name]:.1f}", "–")),
         f"{one.never:,}")
        for name, one in found.items()
    ])
    share = found[FRESHNESS].never / len(learnt.spans.judged)
    page.text(
        f"""Mean delay in minutes at one retrieval a day of a feed like the paper's. The best freshness does not
        retrieve feeds that post often: {100 * share:.0f} % of the postings are never retrieved. Here they count as
        retrieved at the end of the 76 days; so they do in the paper, it seems, whose 40,105 minutes are 28 days. The
        rows below use the expected rates instead, or continue to learn."""
    )
    return [
        Claim("Table 2", "the best freshness has by far the longest delay, about a hundred times that of `both`",
              f"{minutes[FRESHNESS] / minutes[COMBINED]:.0f} times",
              "50 to 200 times",
              verdict(50.0 <= minutes[FRESHNESS] / minutes[COMBINED] <= 200.0)),
        Claim("Table 2", "the best age has half as much delay again as `both`",
              f"{100 * (minutes[AGE] / minutes[COMBINED] - 1):+.0f} %; "
              f"{100 * (minutes[AGE] / minutes[PLANNED] - 1):+.0f} % beside ours, planned",
              "+40 to +60 %, and beside ours",
              verdict(*(1.4 <= minutes[AGE] / minutes[name] <= 1.6 for name in (COMBINED, PLANNED)))),
    ]


def _write_savings(page: Page, spans: Spans) -> list[Claim]:
    page.section("Section 4.6: what sending only new postings would save")
    days = int((END_S - START_S) // DAY_S)
    judged = spans.judged
    day_of = ((judged.times_s - START_S) // DAY_S).astype(np.intp)
    new = np.minimum(np.bincount(judged.feeds * days + day_of, minlength=len(spans) * days), ITEMS)
    means = {"of all days": float(new.mean()), "of days with a posting": float(new[new > 0].mean())}
    page.table(("retrieved once a day", *HEADS), [
        row
        for what, mean in means.items()
        for row in (
            (f"new postings of the {ITEMS} shown, {what}", *beside("4.3", mean)),
            (f"bandwidth saved, %, {what}", *beside("64", 100 * (1 - mean / ITEMS))),
        )
    ])
    page.text(
        """Feeds like the paper's, each of which shows its last 12 postings. By the paper's other numbers a feed posts
        2.7 times a day, so its 4.3 cannot be of all feeds and days."""
    )
    saved = ", ".join(f"{100 * (1 - mean / ITEMS):.0f} % {what}" for what, mean in means.items())
    return [Claim("Section 4.6", "at one retrieval a day 64 % of the bandwidth would be saved", saved,
                  "within 10 % of it, by either mean",
                  verdict(*(abs(1 - mean / ITEMS - 0.64) <= 0.1 for mean in means.values())))]


def _write_weights(page: Page, learnt: LearntRates) -> None:
    page.section("Weights")
    page.text(
        """Definition 2 weighs feeds. Theorem 1 gives f ~ sqrt(w lambda), so with w = lambda retrievals are
        proportional to postings, and where each feed counts the same, w = 1 / lambda, uniform is the best allocation.
        Weighted mean delays in minutes at one retrieval a day of a feed like the paper's, weights by the two weeks:"""
    )
    postings = learnt.rates * START_S / DAY_S
    judged = learnt.spans.judged
    plain = uniform(len(learnt.spans), 1).delays_s(judged)
    rows = []
    for name, weigh in WEIGHTS.items():
        weights = weigh(postings)
        of_posting = weights[judged.feeds]
        means = [
            float(np.average(delays, weights=of_posting)) / 60
            for delays in (plain, divided(learnt.rates, None, 1).delays_s(judged),
                           divided(learnt.rates, weights, 1).delays_s(judged))
        ]
        rows.append((name, *(f"{mean:.1f}" for mean in means)))
    page.table(("weight of a feed", "uniform", "allocation, w = 1", "allocation with these weights"), rows)


def _write_bursty(page: Page, learnt: LearntRates) -> None:
    page.section("Burstiness")
    spans = learnt.spans
    value = np.array([burstiness(times) if times.size >= ENOUGH else np.nan for times in spans.times_s])
    edges = [-1.0, *np.nanquantile(value, (1 / 3, 2 / 3)).tolist(), 1.0]
    names = (UNIFORM, BOTH, PLANNED, ONLINE)
    delays = {name: STRATEGIES[name](learnt, 1).delays_s(spans.judged) / 60 for name in names}
    of_posting = value[spans.judged.feeds]
    rows = []
    for low, high in pairwise(edges):
        kept = (of_posting > low) & (of_posting <= high)
        if np.any(kept):
            rows.append((f"{low:.2f} to {high:.2f}", f"{np.sum((value > low) & (value <= high)):,}", f"{kept.sum():,}",
                         *(f"{delays[name][kept].mean():.1f}" for name in names)))
    page.text(
        f"""The feeds like the paper's with {ENOUGH} postings or more in three thirds, the steadiest first: mean delays
        in minutes at one retrieval a day."""
    )
    page.table(("burstiness", "feeds", "postings judged", *names), rows)
