"""The comparison with Miniflux, Nutch, feedspool and fixed intervals at the same number of retrievals."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.polling import Listed, Measured, policy_retrievals_s
from bestbefore.replay.papers.feeds.runs import ALLOCATION, BOTH, BUDGETS, ONLINE, PLANNED, UNIFORM
from bestbefore.replay.papers.feeds.spans import END_S, LIKE_PAPER_NAME, Spans
from bestbefore.replay.papers.feeds.strategies import evenly
from bestbefore.replay.papers.feeds.tables import Found
from bestbefore.replay.papers.printed import minutes
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.interpolation import crossing
from bestbefore.replay.report.page import Page

MIN_INTERVAL_S = 60.0

AS_THEY_ARE: Mapping[str, str] = {
    "Miniflux, by entries": "miniflux",
    "Nutch, first interval a day": "nutch:initial=1d",
    "feedspool": "aimd",
    "fixed, once in four hours": "fixed:interval=4h",
}
"""SPECs with default parameters. Nutch's default first interval, 30 days, is longer than the training weeks."""
TUNED: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "Miniflux": ("miniflux:factor={:g},max={}", (0.35, 0.6, 1.0, 1.8, 3.2, 5.6)),
    "Nutch": ("nutch:initial=1d,sync=0,decrease={:g},max={}", (0.1, 0.3, 0.5, 0.65, 0.8, 0.92)),
    "feedspool": ("aimd:min=5m,step={:g},max={}", (43200, 21600, 7200, 2700, 1200, 400)),
}
"""SPECs and the values of the parameter that determines the number of retrievals, ascending in this number. Nutch's
`sync` is 0: with a longest interval it retrieves feeds without postings continuously (NUTCH-1564)."""
LONGEST = ("1d", "7d")
"""The longest intervals tried: a day, which leaves little to allocate, and a week, as in our plans."""


def polled(spans: Spans, spec: str) -> Measured:
    """Return the result of a policy that runs from the first day of the spans."""
    policy = parse_spec(spec)
    firsts = evenly(np.ones(len(spans))).first_s.tolist()
    moments = [
        policy_retrievals_s(policy, History(times, 0.0), first, END_S, MIN_INTERVAL_S)
        for times, first in zip(spans.times_s, firsts, strict=True)
    ]
    return spans.measured(Listed(moments))


def tuned() -> dict[str, list[str]]:
    """Return the SPECs for each poller and longest interval."""
    return {
        f"{name}, at most {longest}": [spec.format(value, longest) for value in values]
        for name, (spec, values) in TUNED.items() for longest in LONGEST
    }


def mean_at(curve: Sequence[Measured], per_day: float) -> float | None:
    """The mean delay at `per_day` retrievals, by log-log interpolation on a curve; None outside its range."""
    return crossing(sorted((one.retrievals_per_day, one.mean_s) for one in curve), per_day)


def write(work: Work, page: Page, learnt: LearntRates, found: Found) -> None:
    """Write the section on pollers."""
    specs = [*AS_THEY_ARE.values(), *(spec for specs in tuned().values() for spec in specs)]
    brought = dict(zip(specs, work.each(partial(polled, learnt.spans), specs, "pollers"), strict=True))
    page.section("Against feed readers and crawlers at the same number of retrievals")
    ours = {name: [found[LIKE_PAPER_NAME, name, b] for b in BUDGETS] for name in (BOTH, PLANNED, ONLINE)}
    page.text(
        """Miniflux polls by the entries of the last week, Nutch and feedspool by whether the last polls found
        something. They begin on the first day of the spans, so that they have two weeks to adapt, and see, like any
        reader of a feed, all postings up to a poll. First as they come: how often they retrieve a feed like the
        paper's, and the mean delay in minutes, beside that of the others at as many retrievals (between two budgets
        straight for the logarithms)."""
    )
    rows = []
    for name, spec in AS_THEY_ARE.items():
        one = brought[spec]
        others = (minutes(mean_at(curve, one.retrievals_per_day)) for curve in ours.values())
        rows.append((f"{name}: `{spec}`", f"{one.retrievals_per_day:.2f}", minutes(one.mean_s), *others))
    page.table(("poller", "retrievals a day", "mean delay", *ours), rows)
    curves = {name: [brought[spec] for spec in specs] for name, specs in tuned().items()}
    page.text("Tuned to a number of retrievals by one parameter (" + "; ".join(
        f"{name}: `{specs[0]}` to `{specs[-1]}`" for name, specs in tuned().items()
    ) + "), mean delays in minutes. Fixed-interval polling is `uniform`.")
    rows = [(name, *(minutes(mean_at(curve, b)) for b in BUDGETS)) for name, curve in curves.items()]
    rows += [(name, *(minutes(found[LIKE_PAPER_NAME, name, b].mean_s) for b in BUDGETS))
             for name in (UNIFORM, ALLOCATION, BOTH, PLANNED, ONLINE)]
    page.table(("strategy", *(f"{b} a day" for b in BUDGETS)), rows)
    drawn_curves = {**curves, UNIFORM: [found[LIKE_PAPER_NAME, UNIFORM, b] for b in BUDGETS], **ours}
    page.figure("pollers", "Mean delay against retrievals", drawn(
        [Line(name, [(one.retrievals_per_day, one.mean_s / 60) for one in curve], marked=True)
         for name, curve in drawn_curves.items()],
        Scale("retrievals a day of a feed", logarithmic=True), Scale("mean delay, minutes", logarithmic=True)))
