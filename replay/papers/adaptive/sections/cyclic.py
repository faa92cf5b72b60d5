"""Figures 7 and 9: cyclic objects, eight days of training and seven of test, a cache for each client."""

from collections.abc import Mapping, Sequence
from itertools import product

from bestbefore.replay.papers.adaptive.anchors import ANCHORS, anchored_table, order_claim, shown, stale_at_ttl
from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST,
    AGGHIST_SEGMENTS,
    INDAGG,
    INDHIST,
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    PolicyCurve,
    rates,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.adaptive.drawing import add_rates_figure, cached_requests
from bestbefore.replay.papers.adaptive.formatting import NOT_REACHED, number, ratio, share
from bestbefore.replay.papers.adaptive.paired import DAYS, Paired
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.report.series import Series
from bestbefore.replay.simulate.scenario import Cache

TUNING = values_between(0.05, 0.7, 8)
TRAINING_DAYS = 8
VALIDATIONS = 1_500_000
FIGURE_7 = {TTL.name: 800_000, AGGHIST.name: 500_000, INDHIST.name: 300_000}
"""The stale hits that the paper's text gives for `VALIDATIONS`, where TTL has an alpha of 0.5."""
RATIO_TOLERANCE = 0.1
BEYOND = {AGGHIST.name: 3_500_000, INDHIST.name: 2_500_000}
"""The largest number of validations of the policy with any theta in the paper."""

IND_10_DAYS = PolicyCurve("IndHist, 10 days", "indhist:theta={},history_window=10d")
LIMITED = (
    IND_10_DAYS,
    PolicyCurve("IndHist, 5 days", "indhist:theta={},history_window=5d"),
    PolicyCurve("IndHist, 3 days", "indhist:theta={},history_window=3d"),
)
INDAGG_LOW = PolicyCurve("Adaptive IndHist/AggHist, T=0.1", "indagg:theta={},threshold=0.1")
INDAGG_HIGH = PolicyCurve("Adaptive IndHist/AggHist, T=0.85", "indagg:theta={},threshold=0.85")
SINGLE = (TTL, AGGHIST, INDHIST)
FIGURE_7_CURVES = (*SINGLE, INDAGG, AGGHIST_SEGMENTS)
FIGURE_9_CURVES = (INDAGG_LOW, INDAGG_HIGH, *LIMITED)


def write(work: Work, page: Page, cyclic: Paired) -> list[Claim]:
    """Write the sections of both figures, and return the paper's findings with our results."""
    name = next(iter(cyclic.most_requested()), NOT_REACHED)
    parts = {"": cyclic.only({*cyclic.classes} - {name}), f", with `{name}`": cyclic}
    seven: dict[str, list[Series]] = {}
    nine: dict[str, list[Series]] = {}
    for part, trace in parts.items():
        scenario = trace.scenario(Cache.CLIENT, TRAINING_DAYS)
        seven[part] = series_of_curves(work, scenario, FIGURE_7_CURVES, TUNING, "Figures 7 and 9")
        nine[part] = seven[part][:-1] + series_of_curves(work, scenario, FIGURE_9_CURVES, TUNING, "Figure 9")
    updates = len(cyclic.updates.times_by_object().get(name, ()))
    return [*_write_figure_7(page, name, updates, seven), *_write_figure_9(page, nine)]


def _write_figure_7(
    page: Page, most_requested: str, updates: int, parts: Mapping[str, Sequence[Series]]
) -> list[Claim]:
    page.section("Figure 7: stale hits against validations, cyclic objects")
    without, whole = parts.values()
    here, all_ = cached_requests(without), cached_requests(whole)
    page.text(
        f"""Object `{most_requested}`, which has {updates / DAYS:.1f} updates a day, has
        {share(1 - here / all_ if all_ else None)} of the requests for cyclic objects that found a copy. Here and in
        Figures 8 to 10 findings are judged without it; the tables show both cases."""
    )
    caption = f"Figure 7: cyclic objects without `{most_requested}`, a cache for each client"
    add_rates_figure(page, "figure_7", caption, without)
    page.text(
        f"""The paper reads the stale hits at {VALIDATIONS:,} validations, where TTL has an alpha of 0.5, off its
        figure. Beside them are ours at the number of validations that TTL has with alpha = 0.5, and with 0.2; in
        parentheses the ratio to TTL's. (The paper does not say how many requests found a copy in the days of its test,
        so its counts cannot be converted into shares.) The last row is AggHist with `segment_penalty=1`, which at each
        decision uses the optimal segments of the updates so far."""
    )
    heads, rows = anchored_table(parts)
    printed = {name: f"{stale:,} ({number(stale / FIGURE_7[TTL.name])})" for name, stale in FIGURE_7.items()}
    printed[TTL.name] = f"{FIGURE_7[TTL.name]:,}"
    beside = [(name, printed.get(name, ""), *ours) for name, *ours in rows]
    page.table((heads[0], "printed, alpha=0.5", *heads[1:]), beside)
    page.text(
        """The paper adds that no theta took IndHist beyond 2,500,000 validations, nor AggHist beyond 3,500,000: for
        objects, or their hours, without an update nothing is ever validated. At the smallest theta of the figure:"""
    )
    page.table(*_farthest(parts))
    return _figure_7_claims(without)


def _farthest(parts: Mapping[str, Sequence[Series]]) -> tuple[list[str], list[list[str]]]:
    first = next(iter(parts.values()))
    heads = ["", "validations, printed", *(f"{what}{part}" for part in parts for what in ("validations", "stale hits"))]
    rows = []
    for place, one in enumerate(first):
        ends = [rates(series[place].results[0].counts) for series in parts.values()]
        printed = f"{BEYOND[one.name]:,}" if one.name in BEYOND else ""
        rows.append([one.name, printed, *(share(end[key]) for end in ends for key in (VALIDATION_RATE, STALE_RATE))])
    return heads, rows


def _figure_7_claims(series: Sequence[Series]) -> list[Claim]:
    found = [stale_at_ttl(series, alpha) for alpha in ANCHORS]
    multiples = [" / ".join(number(ratio(one[name], one[TTL.name])) for one in found) for name in FIGURE_7][1:]
    least = {one.name: rates(one.results[0].counts)[VALIDATION_RATE] for one in series}
    histories = (AGGHIST, INDHIST)
    return [
        Claim(
            "Figure 7",
            "at equal validations AggHist has 0.63 and IndHist 0.38 of TTL's stale hits",
            f"AggHist {multiples[0]}, IndHist {multiples[1]}",
            f"within {RATIO_TOLERANCE:g} at alpha = {ANCHORS[0]:g}, as printed",
            verdict(*(_agrees(found[0], name) for name in (AGGHIST.name, INDHIST.name))),
        ),
        order_claim(
            "Figure 7", "IndHist has fewer stale hits than AggHist", {"": series}, histories, [(INDHIST, AGGHIST)]
        ),
        Claim(
            "Figure 7",
            "for no theta are there more validations than 2,500,000 with IndHist and 3,500,000 with AggHist",
            f"theta = 0.05: IndHist {share(least[INDHIST.name])}, AggHist {share(least[AGGHIST.name])}, "
            f"TTL with alpha = 0.05 {share(least[TTL.name])}",
            "fewer with IndHist than with AggHist, and than with TTL",
            verdict(least[INDHIST.name] < least[AGGHIST.name] < least[TTL.name]),
        ),
        order_claim(
            "Figures 7, 9", "adaptive IndHist/AggHist, T=0.5, is better than either alone",
            {"": series}, (*histories, INDAGG), [(INDAGG, curve) for curve in histories],
        ),
    ]


def _agrees(found: Mapping[str, float | None], name: str) -> bool | None:
    """Whether the stale hits of a policy over those of TTL are near the printed ratio."""
    ours = ratio(found[name], found[TTL.name])
    return None if ours is None else abs(ours - FIGURE_7[name] / FIGURE_7[TTL.name]) <= RATIO_TOLERANCE


def _write_figure_9(page: Page, parts: Mapping[str, Sequence[Series]]) -> list[Claim]:
    page.section("Figure 9: adaptive IndHist/AggHist, and limited histories")
    series = next(iter(parts.values()))
    by_name = {one.name: one for one in series}
    for name, caption, curves in (
        ("figure_9", "adaptive IndHist/AggHist", (*SINGLE, INDAGG_LOW, INDAGG, INDAGG_HIGH)),
        ("figure_9_limited", "IndHist with limited histories", (*SINGLE, *LIMITED)),
    ):
        add_rates_figure(page, name, f"Figure 9: {caption}", [by_name[curve.name] for curve in curves])
    page.text(
        """The paper prints no numbers here. Histories are limited by `history_window`; 5 and 3 days are ours. Compared
        as above:"""
    )
    page.table(*anchored_table(parts))
    adaptive = (INDAGG, INDAGG_HIGH)
    return [
        order_claim(
            "Figure 9", "with T from 0.5 to 0.85 it is better than TTL, IndHist and AggHist",
            {"": series}, (*SINGLE, *adaptive), product(adaptive, SINGLE),
        ),
        Claim(
            "Figure 9",
            "with T = 0.1 it is near AggHist",
            shown(series, (AGGHIST, INDAGG_LOW, INDHIST)),
            "nearer to AggHist than to IndHist",
            verdict(*(_nearer(series, alpha, INDAGG_LOW.name, AGGHIST.name, INDHIST.name) for alpha in ANCHORS)),
        ),
        order_claim(
            "Figure 9", "for many objects IndHist with 10 days of history is worse than AggHist and TTL",
            {"": series}, (TTL, AGGHIST, *LIMITED), [(AGGHIST, IND_10_DAYS), (TTL, IND_10_DAYS)],
        ),
    ]


def _nearer(series: Sequence[Series], alpha: float, name: str, to: str, than: str) -> bool | None:
    """Whether the stale hits of one curve are closer to those of a second than to those of a third."""
    found = stale_at_ttl(series, alpha)
    one, near, far = found[name], found[to], found[than]
    return None if one is None or near is None or far is None else abs(one - near) < abs(one - far)
