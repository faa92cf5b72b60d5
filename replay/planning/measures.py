"""The expected freshness, age and delay of each object for its contacts per period, under its law.

Contacts per period may be fractional, as in a plan in real numbers.
"""

from collections.abc import Callable, Mapping

import numpy as np

from bestbefore.policies.models.renewal.laws import Pareto, RenewalLaw, Weibull, pareto_stale_time, weibull_stale_time
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.allocation.cubics import chunks
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, least_staleness
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.potential_waits import mean_age, total_delay

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(48)
"""Gauss-Legendre quadrature on [-1, 1] for means over an interval."""


def freshness(objects: PlannedObjects, contacts: FloatArray, boundary: Boundary) -> FloatArray:
    """(n,) the share of time for which each copy is current."""
    def of_laws(laws: list[RenewalLaw], tau: FloatArray) -> FloatArray:
        return 1.0 - _stale_times(laws, tau[:, None])[:, 0] / tau

    values = _of_renewals(objectives.freshness, of_laws, 0.0, objects, _intervals(contacts, boundary))
    tables: dict[PotentialUpdates, FloatArray] = {}
    for row, law in objects.laws.items():
        if isinstance(law, PotentialUpdates):
            if law not in tables:
                tables[law] = least_staleness(law, boundary)
            stale = tables[law]
            values[row] = 1.0 - np.interp(contacts[row], np.arange(stale.size), stale)
    return values


def age(objects: PlannedObjects, contacts: FloatArray, boundary: Boundary) -> FloatArray:
    """(n,) the age of each copy in periods, averaged over time; infinite if it is never refreshed.

    The expected age of a copy refreshed s ago is the law's `stale_time(s)`.
    """
    def of_laws(laws: list[RenewalLaw], tau: FloatArray) -> FloatArray:
        return _stale_times(laws, tau[:, None] * (NODES + 1.0) / 2.0) @ NODE_WEIGHTS / 2.0

    values = _of_renewals(objectives.age, of_laws, np.inf, objects, _intervals(contacts, boundary))
    for row, law in objects.laws.items():
        if isinstance(law, PotentialUpdates):
            values[row] = mean_age(law, float(contacts[row]), boundary)
    return values


def delay(objects: PlannedObjects, contacts: FloatArray, boundary: Boundary) -> FloatArray:
    """(n,) the sum of the delays of the updates of one period, in periods.

    It does not depend on the law of intervals, as an update is uniformly distributed between two contacts.
    """
    values = _for_all(objectives.delay, objects.rates, _intervals(contacts, boundary))
    for row, law in objects.laws.items():
        if isinstance(law, PotentialUpdates):
            values[row] = total_delay(law, float(contacts[row]), boundary)
    return values


MEASURES: Mapping[str, Callable[[PlannedObjects, FloatArray, Boundary], FloatArray]] = {
    "freshness": freshness,
    "age": age,
    "delay": delay,
}
"""The measures by the names of the objectives."""


def _intervals(contacts: FloatArray, boundary: Boundary) -> FloatArray:
    return contacts + 1.0 if boundary == "interval" else contacts


def _for_all(measure: objectives.Measure, rates: FloatArray, intervals: FloatArray) -> FloatArray:
    values = np.empty(len(rates))
    for part in chunks(len(rates)):
        values[part] = measure(rates[part], intervals[part])
    return values


def _of_renewals(
    of_poisson: objectives.Measure,
    of_laws: Callable[[list[RenewalLaw], FloatArray], FloatArray],
    without_contacts: float,
    objects: PlannedObjects,
    intervals: FloatArray,
) -> FloatArray:
    """(n,) a measure of objects with a renewal law or none; `of_laws` takes laws and the time between two contacts."""
    values = _for_all(of_poisson, objects.rates, intervals)
    laws = {row: law for row, law in objects.laws.items() if not isinstance(law, PotentialUpdates)}
    if laws:
        n = intervals[list(laws)]
        tau = 1.0 / np.where(n > 0.0, n, 1.0)
        values[list(laws)] = np.where(n > 0.0, of_laws(list(laws.values()), tau), without_contacts)
    return values


def _stale_times(laws: list[RenewalLaw], tau: FloatArray) -> FloatArray:
    """(m, k) the expected stale time of each of m laws within each of its times, tau (m, k)."""
    values = np.empty(tau.shape)
    for kind, stale_time in ((Weibull, weibull_stale_time), (Pareto, pareto_stale_time)):
        rows = [row for row, law in enumerate(laws) if isinstance(law, kind)]
        shape, scale = (np.array([[getattr(laws[row], name)] for row in rows]) for name in ("shape", "scale"))
        if rows:
            values[rows] = stale_time(shape, scale, tau[rows])
    for row, law in enumerate(laws):
        if not isinstance(law, Weibull | Pareto):
            values[row] = law.stale_time(tau[row])
    return values
