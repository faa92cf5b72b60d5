"""The objects of a plan estimated from a trace of updates: rates, laws of the updates, and hours of the day.

An object is taken to be observed from its first update (as a feed from its oldest item) to the end of the trace. Its
rate is the posterior mean under a Gamma prior fitted to all objects, so that an object with a single update has a rate
too.
"""

from collections.abc import Sequence

import numpy as np

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.prior import fitted_prior
from bestbefore.policies.models.renewal.fit import fit_best
from bestbefore.policies.models.renewal.laws import Empirical, Poisson
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.clockwork_laws import clockwork_law
from bestbefore.replay.planning.objects import Law, PlannedObjects
from bestbefore.replay.sweeps.progress import Bar, no_bar
from bestbefore.replay.traces.columns.columns import Updates

MOST_MEMBERS = 2000
"""The most objects to which the prior is fitted, selected evenly."""
LEAST_UPDATES = 3
"""The least number of updates, with two intervals between them, to which a law is fitted."""


def learnt(
    updates: Updates, period_s: float, *, with_laws: bool, with_beats: bool = True, bar: Bar = no_bar
) -> PlannedObjects:
    """Estimate the objects of a trace with one update or more, all with the weight 1; with laws if `with_laws`.

    Without `with_beats` objects that change like clockwork have the law of their intervals too.

    Raises ValueError if no object has two updates, or a name contains NUL.
    """
    order = updates.object_ids.argsort(kind="stable")
    times_s = updates.times_s[order]
    present, starts = np.unique(updates.object_ids[order], return_index=True)
    ends = np.append(starts[1:], times_s.size)
    known = ends - starts - 1
    observed_h = (updates.times_s[-1] - times_s[starts]) / HOUR_S
    rates = _rates_per_hour(known, observed_h) * (period_s / HOUR_S)
    laws: dict[int, Law] = {}
    misfit = None
    if with_laws:
        histories = [times_s[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        laws, misfit = _laws(histories, rates, float(updates.times_s[-1]), period_s, with_beats, bar)
        for row, law in laws.items():
            if not isinstance(law, PotentialUpdates):
                rates[row] = 1.0 / law.mean
    hours = np.repeat(np.arange(present.size), ends - starts) * BINS + (times_s % DAY_S // HOUR_S).astype(np.intp)
    return PlannedObjects(
        Ids.of(updates.objects[i] for i in present.tolist()),
        rates,
        np.ones(present.size),
        laws=laws,
        misfit=misfit,
        hourly=np.bincount(hours, minlength=present.size * BINS).reshape(-1, BINS),
    )


def _rates_per_hour(known: np.ndarray, observed_h: FloatArray) -> FloatArray:
    """(n,) the rates, from the number of updates after the first one and the hours since the first one."""
    if not known.any():
        raise ValueError("no object has two updates, expected some that show how often objects change")
    seen_again = np.flatnonzero(observed_h > 0.0)
    members = seen_again[:: -(-seen_again.size // MOST_MEMBERS)]
    if not known[members].any():
        members = np.flatnonzero(known)[:MOST_MEMBERS]
    prior = fitted_prior([Evidence(int(known[i]), float(observed_h[i])) for i in members.tolist()])
    return np.asarray((prior.shape + known) / (prior.hours + observed_h))


def _laws(
    histories: Sequence[FloatArray], rates: FloatArray, end_s: float, period_s: float, with_beats: bool, bar: Bar
) -> tuple[dict[int, Law], FloatArray]:
    """Return the laws by row, without Poisson, and (n,) the Anderson-Darling statistics of those of the intervals.

    An object that changes like clockwork has the law of its beats, any other that which fits its intervals best.
    """
    laws: dict[int, Law] = {}
    misfit = np.full(len(histories), np.nan)
    rows = [row for row, times_s in enumerate(histories) if times_s.size >= LEAST_UPDATES]
    with bar("laws", len(rows)) as watch:
        for row in watch(iter(rows)):
            beats = clockwork_law(histories[row], float(rates[row]), period_s) if with_beats else None
            if beats is not None:
                laws[row] = beats
                continue
            intervals, open_ = np.diff(histories[row]) / period_s, (end_s - float(histories[row][-1])) / period_s
            fit = fit_best(intervals, open_)
            misfit[row] = fit.anderson_darling
            if isinstance(fit.law, Empirical) and open_ > float(intervals.max()):
                # The open interval is longer than all before, so the object changes less often now.
                laws[row] = Empirical.of(np.append(intervals, open_))
            elif not isinstance(fit.law, Poisson):
                laws[row] = fit.law
    return laws, misfit
