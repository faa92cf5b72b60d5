"""Figures 8 and 10: objects with bursts, four days of training and four of test, a cache for each client."""

from collections.abc import Collection, Sequence

from bestbefore.policies.units import DAY_S
from bestbefore.replay.papers.adaptive.anchors import (
    ANCHORS,
    CLEARLY_FEWER,
    SLIGHTLY_FEWER,
    anchored_table,
    order_claim,
    shown,
    stale_at_ttl,
)
from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST,
    INDHIST,
    INDTTL_DAY,
    INDTTL_HOUR,
    TTL,
    PolicyCurve,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.adaptive.drawing import add_rates_figure, cached_requests
from bestbefore.replay.papers.adaptive.paired import MERGED_PAIRS, ORIGIN_S, Paired
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.report.series import Series
from bestbefore.replay.simulate.scenario import Cache

SEED = 1998
TUNING = values_between(0.02, 0.7, 9)
TRAINING_DAYS, DAYS = 4, 8
FIGURE_8_CURVES = (TTL, AGGHIST, INDHIST, INDTTL_DAY)
SHORT_HISTORIES = (
    PolicyCurve("W=1 h, history of 5 days", "indttl:theta={0},alpha={0},window=1h,threshold=2,history_window=5d"),
    PolicyCurve("W=1 h, history of 3 days", "indttl:theta={0},alpha={0},window=1h,threshold=2,history_window=3d"),
)
FIGURE_10_CURVES = (*FIGURE_8_CURVES, INDTTL_HOUR, *SHORT_HISTORIES)


def write(work: Work, page: Page, whole: Paired) -> list[Claim]:
    """Write the sections of both figures, and return the paper's findings with our results."""
    most_requested = whole.of_class("cyclic").most_requested()[:1]
    rest = whole.only({*whole.classes} - {*most_requested})
    pairs = rest.pairs(SEED)
    merged = rest.merged(pairs).first_days(DAYS)
    in_burst = {pairs[name] for name in with_burst_in_test(rest, pairs)}
    alone = rest.of_class("cyclic").first_days(DAYS)
    parts = {", (a)": merged, ", (a) in burst": merged.only(in_burst), ", (b)": alone}
    series = {
        part: series_of_curves(
            work, trace.scenario(Cache.CLIENT, TRAINING_DAYS), FIGURE_10_CURVES, TUNING, f"Figures 8 and 10{part}"
        )
        for part, trace in parts.items()
    }
    ten, bursts, beside = series.values()
    found = [f"{cached_requests(one):,.0f}" for one in series.values()]
    page.section("Objects with bursts")
    page.text(
        f"""As in the paper, the most requested bursty objects are each merged with one of the most requested cyclic
        objects: {len(pairs)} pairs (the paper: {MERGED_PAIRS}), drawn with the seed {SEED}, without object
        `{"".join(most_requested)}`. The first four days are training, the next four test. In the paper all bursts lie
        in its eight days; ours lie anywhere in fifteen. In the four days of the test {len(in_burst)} of the
        {len(pairs)} have their burst, more than half of the updates of the bursty object; these are also shown alone:
        few requests, {found[1]} that found a copy. In (b) the paper has the cyclic objects that were not merged; ours
        are requested too rarely, so (b) shows all cyclic objects, each alone."""
    )
    page.section("Figure 8: stale hits against validations, bursty objects")
    n = len(FIGURE_8_CURVES)
    add_rates_figure(page, "figure_8", "Figure 8: merged objects, a cache for each client", ten[:n])
    add_rates_figure(page, "figure_8_bursts", "Figure 8: those with their burst in the test", bursts[:n])
    page.section("Figure 10: adaptive IndHist/TTL, windows of an hour and a day, limited histories")
    add_rates_figure(page, "figure_10_a", "Figure 10 (a): merged objects", ten)
    add_rates_figure(page, "figure_10_b", "Figure 10 (b): cyclic objects, each alone", beside)
    page.text(
        """The paper prints no numbers here. The shares of stale hits at the number of validations that TTL has, and in
        parentheses their ratio to TTL's, for (a) the merged objects, those of them in a burst, and (b) the cyclic
        objects alone:"""
    )
    page.table(*anchored_table(series))
    return _claims(ten, bursts, beside)


def _claims(whole: Sequence[Series], bursts: Sequence[Series], alone: Sequence[Series]) -> list[Claim]:
    """Return the claims on the merged objects, all and those in a burst, and on the cyclic ones alone."""
    merged = {"": whole, "; in burst ": bursts}
    windows = (INDTTL_HOUR, INDTTL_DAY)
    return [
        order_claim(
            "Figure 8", "with bursts TTL is better than IndHist, not significantly",
            merged, (TTL, INDHIST), [(TTL, INDHIST)], SLIGHTLY_FEWER,
        ),
        order_claim(
            "Figure 8", "with bursts AggHist is significantly worse than both",
            merged, (AGGHIST, TTL, INDHIST), [(TTL, AGGHIST), (INDHIST, AGGHIST)], CLEARLY_FEWER,
        ),
        order_claim(
            "Figures 8, 10 (a)",
            "with bursts adaptive IndHist/TTL with W = 24 h is better than TTL in most cases, and than IndHist",
            merged, (INDTTL_DAY, TTL, INDHIST), [(INDTTL_DAY, TTL), (INDTTL_DAY, INDHIST)],
        ),
        order_claim(
            "Figure 10 (a)", "with bursts W = 24 h is better than W = 1 h",
            merged, (INDTTL_DAY, INDTTL_HOUR), [(INDTTL_DAY, INDTTL_HOUR)],
        ),
        order_claim(
            "Figure 10 (a)", "with bursts shorter histories make adaptive IndHist/TTL with W = 1 h better than TTL",
            merged, (INDTTL_HOUR, *SHORT_HISTORIES, TTL), [(curve, TTL) for curve in SHORT_HISTORIES],
        ),
        Claim(
            "Figure 10 (b)", "for cyclic objects adaptive IndHist/TTL is comparable to IndHist",
            shown(alone, (*windows, INDHIST, TTL)),
            "nearer to IndHist than to TTL, or fewer than both",
            verdict(*(_comparable(alone, curve.name, alpha) for curve in windows for alpha in ANCHORS)),
        ),
    ]


def _comparable(series: Sequence[Series], name: str, alpha: float) -> bool | None:
    """Whether a curve is closer to IndHist than to TTL, or better than both."""
    found = stale_at_ttl(series, alpha)
    one, ttl, indhist = found[name], found[TTL.name], found[INDHIST.name]
    if one is None or ttl is None or indhist is None:
        return None
    return one < (ttl + indhist) / 2 if indhist < ttl else one <= indhist


def with_burst_in_test(whole: Paired, objects: Collection[str]) -> list[str]:
    """Return the objects with more than half of their updates in the test days."""
    start_s, end_s = ORIGIN_S + TRAINING_DAYS * DAY_S, ORIGIN_S + DAYS * DAY_S
    times = whole.updates.times_by_object()
    return [
        name
        for name in objects
        if name in times and 2 * int(((times[name] > start_s) & (times[name] <= end_s)).sum()) > len(times[name])
    ]
