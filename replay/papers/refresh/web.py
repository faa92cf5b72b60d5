"""Table VII and Figure 18: freshness and age of the allocations for the change rates of Web pages."""

import math

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, bound, value
from bestbefore.replay.papers.printed import HEADS, rows_beside
from bestbefore.replay.papers.refresh.shares import (
    INTERVALS_DAYS,
    REFRESHES_PER_DAY,
    all_shares,
    nearest,
    optimal,
    simple_values,
)
from bestbefore.replay.report.page import Page

OVERALL = np.array([0.23, 0.15, 0.15, 0.18, 0.29])
"""The shares of pages by change interval; the first two are in the text, the others are read from Figure 17(a)."""
DAILY_COM = 0.40
"""The share of com pages that change daily, from the text."""
PARTS = 100
"""The number of parts in the search for shares: whole percents."""
FITTED = 4
"""The first rows of Table VII, by which the shares of com and gov are chosen."""
ALMOST_NOTHING = 0.05
"""The largest freshness that counts as almost 0."""
FASTER = tuple(2.0**k for k in range(-2, 7))


ROWS = (
    "proportional, freshness", "proportional, age in days", "uniform, freshness", "uniform, age in days",
    "optimal, freshness", "optimal, age in days",
)
OVERALL_PRINTED = ("0.12", "400", "0.57", "5.6", "0.62", "4.3")
COM_PRINTED = ("0.07", "386", "0.38", "8.5", "0.44", "7.4")
GOV_PRINTED = ("0.69", "19.3", "0.82", "2.0", "0.85", "1.3")
"""The columns of Table VII, in the order of `ROWS`."""


def column(shares: FloatArray) -> tuple[float, ...]:
    """Our values, in the order of the printed ones."""
    return (*(float(values[0]) for values in simple_values(shares[None, :])), *optimal(shares))


def faster_freshness(faster: float) -> tuple[float, float, float]:
    """The proportional, uniform and optimal freshness of the overall pages with rates multiplied by `faster`."""
    rates = faster / INTERVALS_DAYS
    mean = np.array([OVERALL @ rates])
    return (
        float(objectives.freshness(mean, np.array([REFRESHES_PER_DAY]))[0]),
        float(OVERALL @ objectives.freshness(rates, np.full(5, REFRESHES_PER_DAY))),
        optimal(OVERALL, faster)[0],
    )


def write(page: Page) -> list[Agreement]:
    """Write the sections on the web."""
    choices = all_shares(PARTS)
    page.section("Table VII: freshness and age prediction based on the real Web data")
    as_in_text = choices[np.all(choices[:, :2] == OVERALL[:2], axis=1)]
    within = as_in_text[nearest(as_in_text, OVERALL_PRINTED[:4])[1] <= 1.0]
    page.text(
        f"""Pages are downloaded once a month (30 days) on average. The shares of pages that change every day, week,
        month, four months and year are those of Figure 17, of which only the first two are in the text (23 % and 15 %,
        over all domains). Overall we take {shares_shown(OVERALL)} with intervals of 1, 7, 30, 120 and 365 days. The
        last three are assumed. Of the {len(as_in_text):,} ways to divide the rest in whole per cents,
        {len(within)} give the four values of the proportional and the uniform policy within a unit of the last digit
        printed: {" and ".join(shares_shown(shares) for shares in within)}."""
    )
    ours = column(OVERALL)
    page.table(("overall", *HEADS), rows_beside(ROWS, OVERALL_PRINTED, ours))
    return [
        *(
            value("Table VII", f"overall, {what}", printed, one)
            for what, printed, one in zip(ROWS, OVERALL_PRINTED, ours, strict=True)
        ),
        value("section 7.5", "optimal over proportional freshness, times", "5", ours[4] / ours[0]),
        value("section 7.5", "less age by the optimal than the uniform policy, %", "23", 100 * (1 - ours[5] / ours[3])),
        value("section 7.5", "proportional over optimal age, times", "93", ours[1] / ours[5]),
        *_domains(page, choices),
        *_faster(page),
    ]


def _domains(page: Page, choices: FloatArray) -> list[Agreement]:
    agreements = []
    com = choices[choices[:, 0] == DAILY_COM]
    gov = choices[(choices[:, 0] < 0.10) & (choices[:, 4] > 0.50)]
    page.text(
        """For com and gov the text gives less: 40 % of the pages of com change daily, under 10 % of those of gov, and
        over half of the latter not in four months. Their bars in Figure 17(b) are not in the text. So the shares are
        **fitted**: of all divisions in whole per cents that agree with the text, the one whose freshness and age under
        the proportional and the uniform policy lie nearest to those printed. Four printed values fix four free shares
        (com: three), so that for those rows agreement says only that such shares exist; the rows of the optimal policy
        were not fitted."""
    )
    for name, some, printed in (
        ("com, 40 % daily", com, COM_PRINTED), ("com, any", choices, COM_PRINTED), ("gov", gov, GOV_PRINTED)
    ):
        best, distance = nearest(some, printed[:4])
        ours = column(best)
        page.table((f"{name}: {shares_shown(best)}", *HEADS), rows_beside(ROWS, printed, ours))
        agreements += [
            value("Table VII", f"{name}, {what}", asked, one)
            for what, asked, one in list(zip(ROWS, printed, ours, strict=True))[FITTED:]
        ]
        if name == "com, any":
            near = choices[distance <= 0.5, 0]
            page.text(
                f"""For all four values of com to round to what is printed, {_percents(near)} of the pages must change
                daily; the text says 40 %."""
            )
    return agreements


def _percents(daily: FloatArray) -> str:
    return f"{100 * daily.min():.0f} to {100 * daily.max():.0f} %" if len(daily) else "no share in whole per cents"


def _faster(page: Page) -> list[Agreement]:
    page.section("Figure 18: freshness for different average change frequencies")
    curves = {faster: faster_freshness(faster) for faster in FASTER}
    page.text(
        """The overall pages of Table VII, all changing x times as often, downloaded once a month as before. The paper
        prints no values but those of its text."""
    )
    page.table(
        ("x", "proportional", "uniform", "optimal", "optimal / uniform"),
        [
            (f"{faster:g}", *(f"{value:.3f}" for value in values), f"{values[2] / values[1]:.2f}")
            for faster, values in curves.items()
        ],
    )
    dense = [2.0 ** (k / 4) for k in range(4 * int(math.log2(FASTER[0])), 4 * int(math.log2(FASTER[-1])) + 1)]
    values = [faster_freshness(faster) for faster in dense]
    lines = [
        Line(name, [(faster, value[place]) for faster, value in zip(dense, values, strict=True)])
        for place, name in enumerate(("proportional", "uniform", "optimal"))
    ]
    drawing = drawn(lines, Scale("times as many changes", logarithmic=True), Scale("freshness"))
    page.figure("18", "Figure 18: estimated freshness for different average change frequencies", drawing)
    proportional, uniform, best = curves[4.0]
    fastest = curves[64.0]
    return [
        bound("section 7.5", "x = 4: proportional almost 0", proportional, most=ALMOST_NOTHING),
        bound("section 7.5", "x = 4: uniform higher than 0.4", uniform, least=0.4),
        bound("section 7.5", "x = 4: optimal higher than 0.4", best, least=0.4),
        value("section 7.5", "x = 64: optimal over uniform, times", "2", fastest[2] / fastest[1]),
    ]


def shares_shown(shares: FloatArray) -> str:
    """Format shares in per cent, for a sentence.

    >>> shares_shown(np.array([0.5, 0.25, 0.25]))
    '50 / 25 / 25 %'
    """
    return " / ".join(f"{100 * share:.0f}" for share in shares) + " %"
