"""Figure 6: the tails of the times between updates of real pages, beside the laws that the paper finds."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain, zip_longest
from typing import NamedTuple, Self

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.models.clockwork.detection import find_clockwork
from bestbefore.policies.models.renewal.fit import fit_pareto, fit_poisson, fit_weibull
from bestbefore.policies.models.renewal.laws import Pareto, RenewalLaw, Weibull
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.agreement import Agreement, bound
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.traces.columns.files import read_updates

FILES = ("updates_pages.csv.gz", "updates_scraped.csv.gz")
LEAST_INTERVALS = 100
"""The intervals of a page that was "modified a fair amount of time"."""
DRAWN = 18
"""The pages in the figure of the paper."""
NEAR = 0.1
"""The largest distance between a tail and a law that closely approximates it."""
SOME = 0.05
"""The least share of pages that counts as some."""
LONGEST = 8.0
"""The end of the drawing, in mean times between updates."""
POINTS = 60


class PageTail(NamedTuple):
    """The update intervals of a page, and which laws closely approximate their tail."""

    intervals_s: FloatArray
    """(n,) ascending."""
    exponential: bool
    weibull: bool
    """A Weibull law with a < 1."""
    pareto: bool
    """A Pareto law with 1 < a < 2."""
    clockwork: bool

    @classmethod
    def of(cls, times_s: FloatArray) -> Self:
        """Compare the intervals between ascending times with the most likely law of each kind."""
        intervals_s = np.sort(np.diff(times_s))

        def near(law: RenewalLaw) -> bool:
            return distance(law, intervals_s) <= NEAR

        weibull, pareto = fit_weibull(intervals_s).law, fit_pareto(intervals_s)
        return cls(
            intervals_s,
            near(fit_poisson(intervals_s).law),
            isinstance(weibull, Weibull) and weibull.shape < 1.0 and near(weibull),
            pareto is not None and isinstance(pareto.law, Pareto) and pareto.law.shape < 2.0 and near(pareto.law),
            find_clockwork(times_s) is not None,
        )

    def line(self, name: str, source: int) -> Line:
        """Return the share of the intervals longer than t, t in mean intervals."""
        t = np.linspace(0.0, LONGEST, POINTS)
        longer = 1.0 - np.searchsorted(self.intervals_s, t * self.intervals_s.mean(), "right") / self.intervals_s.size
        return Line(name, [both for both in zip(t.tolist(), longer.tolist(), strict=True) if both[1]], of=source)


KINDS = {
    "exponential": "exponential", "Weibull, a < 1": "weibull", "Pareto, 1 < a < 2": "pareto", "clockwork": "clockwork",
}


def distance(law: RenewalLaw, intervals_s: FloatArray) -> float:
    """Return the Kolmogorov-Smirnov distance between a law and ascending intervals."""
    below = -np.expm1(law.log_tail(intervals_s))
    ranks = np.arange(intervals_s.size + 1) / intervals_s.size
    return float(np.maximum(ranks[1:] - below, below - ranks[:-1]).max())


def tails(work: Work) -> Mapping[str, list[tuple[str, PageTail]]]:
    """Return by source its pages with `LEAST_INTERVALS`, those with the most first. Raises TraceError."""
    found: defaultdict[str, list[tuple[str, PageTail]]] = defaultdict(list)
    for file in FILES:
        for name, times in read_updates(work.trace(file), work.warn).times_by_object().items():
            times_s = np.unique(np.asarray(times, dtype=np.float64))
            if times_s.size > LEAST_INTERVALS:
                found[name.partition("/")[0]].append((name, PageTail.of(times_s)))
    return {
        source: sorted(found[source], key=lambda one: (-one[1].intervals_s.size, one[0])) for source in sorted(found)
    }


def write(work: Work, page: Page) -> list[Agreement]:
    """Write the section on the tails of real pages; nothing without traces."""
    if work.traces is None:
        return []
    found = tails(work)
    everything = [tail for pages in found.values() for _, tail in pages]
    if not everything:
        return []
    page.section("Figure 6: tail distributions of update processes")
    page.text(
        f"""The paper draws {DRAWN} pages of a sports site. Ours are the pages of {" and ".join(FILES)} with
        {LEAST_INTERVALS} intervals or more between updates. A law closely approximates a page if the most likely law of
        its kind is nowhere further than {NEAR:g} from the page's own distribution of intervals. A page may be near
        several laws. A Pareto law with a of at most 1 has no mean and is not fitted. *Clockwork* are updates at fixed
        times of the hour, day or week (`policies/models/clockwork`), in place of the quasi-deterministic pages."""
    )
    by_source = {f"`{name}`": [tail for _, tail in pages] for name, pages in found.items()}
    page.table(
        ("pages", "number", *KINDS),
        [
            (name, str(len(some)), *(str(sum(getattr(tail, kind) for tail in some)) for kind in KINDS.values()))
            for name, some in {"all": everything, **by_source}.items()
        ],
    )
    numbers = {source: number for number, source in enumerate(found)}
    in_turn = [one for one in chain.from_iterable(zip_longest(*found.values())) if one is not None]
    lines = [tail.line(name, numbers[name.partition("/")[0]]) for name, tail in in_turn[:DRAWN]]
    page.figure(
        "6", f"Figure 6: the share of intervals longer than t, of {len(lines)} pages, each source in turn",
        drawn(lines, Scale("t, in mean intervals of the page"), Scale("share of the intervals", logarithmic=True)),
    )
    shares = {name: sum(getattr(tail, kind) for tail in everything) / len(everything) for name, kind in KINDS.items()}
    return [
        bound("Figure 6", "intervals can differ from an exponential law, share of the pages that do",
              1.0 - shares["exponential"], least=SOME, digits=2),
        *(
            bound("Figure 6", f"some pages are close to {name}, share", shares[name], least=SOME, digits=2)
            for name in list(KINDS)[1:]
        ),
    ]
