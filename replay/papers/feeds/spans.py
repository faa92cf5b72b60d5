"""Feeds for the protocol of the paper, cut out of longer traces: two weeks to learn from and 76 days to be judged by.

The paper watched 9,634 feeds over the same three months. Our traces of postings begin and end when they will and reach
back for decades. So each object is cut into spans of 90 days, and each span with a posting is a feed of its own. All
are taken as simultaneous, which changes nothing, since feeds compete for retrievals only through their rates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from bestbefore.policies.models.patterns import hourly_counts
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray
from bestbefore.replay.papers.feeds.polling import Postings
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import read_updates
from bestbefore.replay.traces.errors import TraceError

TRACES = ("feeds", "commits", "releases")
SPAN_DAYS, LEARN_DAYS = 90, 14
START_S, END_S = LEARN_DAYS * DAY_S, SPAN_DAYS * DAY_S
"""The part of a span that is judged."""

PAPER_FEEDS, PAPER_DAILY, PAPER_POSTINGS_A_WEEK = 9634, 3116, 180_000
"""Section 4.1, and 2.2: feeds; of these with a posting a day or more on average; postings of all."""
MOST_POSTINGS = 2047
"""Of a span like those of the paper: of more there are too few in our traces to draw from."""
LIKE_PAPER_NAME, LIKE_PAPER, SEED = "like the paper", 850, 2007
"""How many spans are drawn: the octave of postings with the fewest gives no more."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Feeds over 90 days."""

    name: str
    times_s: Sequence[FloatArray]
    """The postings of each, ascending, since the midnight (UTC) at which its span begins."""

    def __len__(self) -> int:
        return len(self.times_s)

    @cached_property
    def numbers(self) -> IntArray:
        """(F,) the postings of each."""
        return np.array([times.size for times in self.times_s])

    @cached_property
    def learnt(self) -> IntArray:
        """(F,) those of the two weeks."""
        return np.array([int(times.searchsorted(START_S)) for times in self.times_s])

    @cached_property
    def hours_learnt(self) -> IntArray:
        """(F, 24) the same by hour of the day."""
        return np.array([
            hourly_counts(times[:number]) for times, number in zip(self.times_s, self.learnt.tolist(), strict=True)
        ])

    @cached_property
    def active_hours_learnt(self) -> IntArray:
        """(F, 24) on how many of the 14 days each posted in each hour: a burst within an hour counts once."""
        return np.array([
            hourly_counts(np.unique(times[:number] // HOUR_S) * HOUR_S)
            for times, number in zip(self.times_s, self.learnt.tolist(), strict=True)
        ])

    @cached_property
    def judged(self) -> Postings:
        """The postings after the two weeks."""
        return Postings.of(self.times_s).between(START_S, END_S)

    @cached_property
    def _keys(self) -> FloatArray:
        """Return all postings on one axis, on which each feed has its own 90 days."""
        return np.concatenate([times + feed * END_S for feed, times in enumerate(self.times_s)])

    def counted(self, feeds: IntArray, t: float, windows_s: Sequence[float]) -> IntArray:
        """(n, K) how many postings some feeds have in each window (t - window, t]; after the end as at the end."""
        now = min(t, END_S)
        base, following = (np.searchsorted(self._keys, (feeds + k) * END_S) for k in (0, 1))
        until = np.minimum(np.searchsorted(self._keys, feeds * END_S + now, side="right"), following)
        after = [
            np.searchsorted(self._keys, feeds * END_S + (now - window), side="right") if window < now else base
            for window in windows_s
        ]
        return np.column_stack([until - before for before in after])

    def only(self, numbers: IntArray, name: str) -> "Spans":
        """Return some of the feeds."""
        return Spans(name, [self.times_s[number] for number in numbers.tolist()])


def read_spans(work: Work) -> dict[str, Spans]:
    """The spans of each trace of postings, and of `all`. Raises TraceError also for a trace without postings."""
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


def cut(postings: Updates) -> list[FloatArray]:
    """The spans of all objects that hold a posting.

    They follow each other from the midnight before the first posting of the object's source (the first part of its
    name), so that a source that was watched for a month is not cut in two.
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
    """The probability of 1, 2, ..., MOST_POSTINGS postings in 90 days, a power law as the paper finds.

    Its exponent is that at which the printed share of the feeds posts once a day or more. (The printed curve through
    the points of figure 7, y = 376 x^-0.78, has another share.)
    """
    def law(exponent: float) -> FloatArray:
        density = np.arange(1.0, MOST_POSTINGS + 1.0) ** -exponent
        return np.asarray(density / density.sum())

    exponent = brentq(lambda b: law(b)[SPAN_DAYS - 1 :].sum() - PAPER_DAILY / PAPER_FEEDS, -1.0, 3.0)
    return law(exponent)


def like_paper(spans: Spans, wanted: int = LIKE_PAPER) -> Spans:
    """Spans drawn at random so that their numbers of postings have `postings_law`, octave by octave; none twice.

    Where an octave has too few, all of it is taken.
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
