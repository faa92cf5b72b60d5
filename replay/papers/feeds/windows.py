"""Figures 8 and 11 (the length of the training window for rates and patterns), and figure 9 (the change of rates)."""

from functools import partial

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.units import DAY_S, IntArray
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.feeds.learning_windows import mean_delay_of_pattern_window_s, mean_delay_of_rate_window_s
from bestbefore.replay.papers.feeds.spans import SPAN_DAYS, Spans
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

RATE_DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 28)
PATTERN_WEEKS = (1, 2, 3, 4)
FIRST_DAY = 28
RETRIEVALS = 4
"""The mean number of retrievals of a feed per day, as in footnote 5."""
STRENGTH = 5.0


def mean_minutes(spans: Spans, run: tuple[str, int]) -> float:
    """The mean delay, minutes, for a pair of a kind of window and its days."""
    kind, days = run
    judged = SPAN_DAYS - FIRST_DAY
    start_s = FIRST_DAY * DAY_S
    if kind == "rate":
        return mean_delay_of_rate_window_s(spans.times_s, start_s, judged, days, RETRIEVALS) / 60.0
    strength = STRENGTH if kind == "drawn" else 0.0
    return mean_delay_of_pattern_window_s(spans.times_s, start_s, judged, days, RETRIEVALS, strength) / 60.0


def write(work: Work, page: Page, spans: Spans) -> list[Claim]:
    """Write the section, and return the claims with our results."""
    page.section("Figures 8, 9 and 11: how long a history to learn from")
    runs = [("rate", days) for days in RATE_DAYS]
    runs += [(kind, 7 * weeks) for kind in ("own", "drawn") for weeks in PATTERN_WEEKS]
    found = dict(zip(runs, work.each(partial(mean_minutes, spans), runs, "windows"), strict=True))
    page.text(
        f"""Figure 8: each day the retrievals ({RETRIEVALS} a day of a feed on average) are divided by theorem 1 on the
        rates of the last k days; in the paper the delay falls until k = 14 and then stays. Figure 11: the hours of
        posting in the last k weeks decide when a feed is retrieved; in the paper k hardly matters. Ours are the
        feeds like the paper's, judged from day {FIRST_DAY} on, mean delays in minutes. `own` is the raw profile,
        `drawn` has {STRENGTH:.0f} postings of the common one added. The paper prints no values of these curves."""
    )
    page.table(("figure 8: k in days", *map(str, RATE_DAYS)),
               [("mean delay", *(f"{found['rate', days]:.1f}" for days in RATE_DAYS))])
    page.figure("figure_8", "Figure 8: the window of rates", drawn(
        [Line("theorem 1 each day", [(float(d), found["rate", d]) for d in RATE_DAYS], marked=True)],
        Scale("days of history"), Scale("mean delay, minutes")))
    page.table(("figure 11: k in weeks", *map(str, PATTERN_WEEKS)), [
        (kind, *(f"{found[kind, 7 * weeks]:.1f}" for weeks in PATTERN_WEEKS)) for kind in ("own", "drawn")
    ])
    page.figure("figure_11", "Figure 11: the window of patterns", drawn(
        [Line(kind, [(float(weeks), found[kind, 7 * weeks]) for weeks in PATTERN_WEEKS], marked=True)
         for kind in ("own", "drawn")],
        Scale("weeks of history"), Scale("mean delay, minutes")))
    page.text(_steadiness(spans))
    fortnight, longest, day = (found["rate", days] for days in (14, 28, 1))
    weeks = [found["own", 7 * number] for number in PATTERN_WEEKS]
    return [
        Claim("Figure 8", "the delay falls until the window is 14 days long, and then no more",
              f"1 day {day:.1f}, 14 days {fortnight:.1f}, 28 days {longest:.1f} minutes",
              "shorter with 14 days than with 1; by less than 1% with 28",
              verdict(fortnight < day, longest > 0.99 * fortnight)),
        Claim("Figure 11", "the length of the window, 1 to 4 weeks, does not matter",
              f"{weeks[0]:.1f} to {weeks[-1]:.1f} minutes",
              "all within 5%",
              verdict(max(weeks) < 1.05 * min(weeks))),
    ]


def _steadiness(spans: Spans) -> str:
    """Return the text on figure 9, the rates of two consecutive fortnights, and of the first and the last."""
    def counts(first_day: int) -> IntArray:
        edges = (first_day * DAY_S, (first_day + 14) * DAY_S)
        return np.array([int(np.diff(times.searchsorted(edges))[0]) for times in spans.times_s])

    first = counts(0)
    shown = []
    for second in (counts(14), counts(SPAN_DAYS - 14)):
        some = (first > 0) | (second > 0)
        ratio = (np.maximum(first, second)[some] + 1) / (np.minimum(first, second)[some] + 1)
        shown.append(f"{100 * np.mean(ratio <= 2):.0f} %")
    return (
        "Figure 9 (rates of two fortnights): the paper finds more than 90 % of its feeds in a narrow band around equal "
        f"rates. Of ours with a posting in either, {shown[0]} differ by a factor of two or less (one posting added to "
        f"each) between the first and the second fortnight, and {shown[1]} between the first and the last."
    )
