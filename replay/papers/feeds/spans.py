"""Spans of 90 days cut from longer traces, for the protocol of the paper: two weeks of training and 76 days of test.

The paper observed 9,634 feeds over the same three months. Our traces of postings have different beginnings and ends
over decades. So each object is cut into spans of 90 days, and each span with a posting is treated as one feed. All are
taken as simultaneous; this makes no difference, since feeds compete for retrievals only by their rates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from bestbefore.policies.models.patterns import hourly_counts
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray
from bestbefore.replay.papers.feeds.polling import Measured, Postings, Schedules
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import read_updates
from bestbefore.replay.traces.errors import TraceError

TRACES = ("feeds", "commits", "releases")
SPAN_DAYS, LEARN_DAYS = 90, 14
START_S, END_S = LEARN_DAYS * DAY_S, SPAN_DAYS * DAY_S
"""The test period of a span."""

PAPER_FEEDS, PAPER_DAILY, PAPER_POSTINGS_A_WEEK = 9634, 3116, 180_000
"""Sections 4.1 and 2.2: the number of feeds, of feeds with a posting a day or more, and of all postings a week."""
MOST_POSTINGS = 2047
"""The most postings of a sampled span; our traces have too few spans with more."""
SAMPLED = 300
"""The most spans of a trace that schedules without a plan are tried on, which take a millisecond a retrieval."""
LIKE_PAPER_NAME, LIKE_PAPER, SEED = "like the paper", 850, 2007
"""The number of spans like the paper's is limited by the octave of postings with the fewest spans."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Feeds over 90 days."""

    name: str
    times_s: Sequence[FloatArray]
    """The postings of each feed, ascending, seconds since the midnight (UTC) at which its span begins."""

    def __len__(self) -> int:
        return len(self.times_s)

    @cached_property
    def numbers(self) -> IntArray:
        """(F,) the number of postings of each feed."""
        return np.array([times.size for times in self.times_s])

    @cached_property
    def learnt(self) -> IntArray:
        """(F,) the number of postings of each feed in the two training weeks."""
        return np.array([int(times.searchsorted(START_S)) for times in self.times_s])

    @cached_property
    def hours_learnt(self) -> IntArray:
        """(F, 24) the postings of the training weeks by hour of the day."""
        return np.array([
            hourly_counts(times[:number]) for times, number in zip(self.times_s, self.learnt.tolist(), strict=True)
        ])

    @cached_property
    def active_hours_learnt(self) -> IntArray:
        """(F, 24) the number of the 14 days with a posting in each hour, so that a burst within an hour counts once."""
        return np.array([
            hourly_counts(np.unique(times[:number] // HOUR_S) * HOUR_S)
            for times, number in zip(self.times_s, self.learnt.tolist(), strict=True)
        ])

    @cached_property
    def judged(self) -> Postings:
        """The postings of the test period."""
        return Postings.of(self.times_s).between(START_S, END_S)

    @cached_property
    def _keys(self) -> FloatArray:
        """All postings on one time axis, on which each feed has separate 90 days."""
        return np.concatenate([times + feed * END_S for feed, times in enumerate(self.times_s)])

    def counted(self, feeds: IntArray, t: float, windows_s: Sequence[float]) -> IntArray:
        """(n, K) the postings of some feeds in each window (t - window, t]; t is limited to the end of the span."""
        now = min(t, END_S)
        base, following = (np.searchsorted(self._keys, (feeds + k) * END_S) for k in (0, 1))
        until = np.minimum(np.searchsorted(self._keys, feeds * END_S + now, side="right"), following)
        after = [
            np.searchsorted(self._keys, feeds * END_S + (now - window), side="right") if window < now else base
            for window in windows_s
        ]
        return np.column_stack([until - before for before in after])

    def measured(self, schedules: Schedules) -> Measured:
        """Return the results of retrievals in the test period."""
        return Measured.of(schedules, self.judged, len(self), START_S, END_S)

    def only(self, numbers: IntArray, name: str) -> "Spans":
        """Return some of the feeds."""
        return Spans(name, [self.times_s[number] for number in numbers.tolist()])


def read_spans(work: Work) -> dict[str, Spans]:
    """Read the spans of each trace of postings, and of `all`. Raises TraceError, also for a trace without postings."""
    found = {}
    for name in TRACES:
        path = work.trace(f"postings_{name}.csv.gz")
        postings = read_updates(path, work.warn)
        if not len(postings):
            raise TraceError(f"{path}: no posting, expected some")
        found[name] = Spans(name, cut(postings))
    for name, spans in found.items():
        if not len(spans.judged):
            raise TraceError(f"{work.trace(f'postings_{name}.csv.gz')}: all within {LEARN_DAYS} days, expected more")
    return {**found, "all": Spans("all", [times for name in TRACES for times in found[name].times_s])}


def sampled(spans: Spans) -> Spans:
    """Sample at most `SAMPLED` spans."""
    drawn = np.random.default_rng(SEED).permutation(len(spans))[:SAMPLED]
    return spans.only(np.sort(drawn), sampled_name(spans.name))


def sampled_name(name: str) -> str:
    """The name of the sample of a trace."""
    return f"{name}, sampled"


def cut(postings: Updates) -> list[FloatArray]:
    """Cut the postings of all objects into spans with at least one posting.

    Spans begin at the midnight before the first posting of the object's source (the first part of its name), so that a
    source observed for a month is not cut.
    """
    times = postings.times_by_object()
    sources = {name: Grouping.PREFIX.group_of(name) for name in times}
    begun = _earliest(times, sources)
    spans = []
    for name in sorted(times):
        since = times[name] - begun[sources[name]]
        number = (since // END_S).astype(np.intp)
        firsts = np.flatnonzero(np.diff(number, prepend=-1))
        spans += [part - int(k) * END_S for part, k in zip(np.split(since, firsts[1:]), number[firsts], strict=True)]
    return spans


def _earliest(times: Mapping[str, FloatArray], sources: Mapping[str, str]) -> dict[str, float]:
    begun: dict[str, float] = {}
    for name, own in times.items():
        midnight = float(own[0] // DAY_S * DAY_S)
        begun[sources[name]] = min(begun.get(sources[name], midnight), midnight)
    return begun


def postings_law() -> FloatArray:
    """The probability of 1, 2, ..., MOST_POSTINGS postings in 90 days, a power law as in the paper.

    The exponent is chosen so that the printed share of feeds posts once a day or more. (The printed fit to figure 7,
    y = 376 x^-0.78, implies another share.)
    """
    def law(exponent: float) -> FloatArray:
        density = np.arange(1.0, MOST_POSTINGS + 1.0) ** -exponent
        return np.asarray(density / density.sum())

    exponent = brentq(lambda b: law(b)[SPAN_DAYS - 1 :].sum() - PAPER_DAILY / PAPER_FEEDS, -1.0, 3.0)
    return law(exponent)


def like_paper(spans: Spans, wanted: int = LIKE_PAPER) -> Spans:
    """Sample spans, without repetition, whose numbers of postings follow `postings_law` in each octave.

    If an octave has too few spans, all of them are taken.
    """
    law = postings_law()
    octave_of_law = np.log2(np.arange(1, law.size + 1)).astype(np.intp)
    shares = np.bincount(octave_of_law, law)
    octaves = np.where(spans.numbers <= MOST_POSTINGS, np.log2(spans.numbers).astype(np.intp), -1)
    rng = np.random.default_rng(SEED)
    drawn = []
    for octave, share in enumerate(shares.tolist()):
        there = np.flatnonzero(octaves == octave)
        drawn.append(rng.choice(there, min(round(wanted * share), there.size), replace=False))
    return spans.only(np.sort(np.concatenate(drawn)), LIKE_PAPER_NAME)
