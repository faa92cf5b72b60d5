"""The evidence in a record for the estimation of the object's rate of change and its daily pattern."""

import numpy as np

from bestbefore.addon.engine.learning import Record
from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray

PATTERN_S = 2 * HOUR_S
"""An update known only within a longer interval is not counted in an hour of the day."""
LEAST_H = 1.0 / 3600.0


def rate_evidence(record: Record) -> Evidence:
    """Return the evidence of all contacts for an estimate of the rate: dated updates, open hours, censored intervals.

    Open hours are those in which no update can have been missed: an interval without change; of an interval with a
    dated update, the part after that update; for a feed, which lists its postings, all but intervals with an undated
    posting.
    """
    hours = (record.last_contact_s - record.since_s) / HOUR_S
    if hours <= 0.0:
        return Evidence()
    vague_h = [max((u.by_s - u.after_s) / HOUR_S, LEAST_H) for u in record.updates if not u.exact]
    dated = record.n_updates - len(vague_h)
    open_h = hours - sum(vague_h) - record.hidden_s / HOUR_S
    return Evidence(dated, max(open_h, LEAST_H if dated else 0.0), np.array(vague_h))


def updates_by_hour(record: Record) -> FloatArray:
    """Return the number of updates in each UTC hour of the day, (24,), of those whose hour is known."""
    known_s = [u.point_s for u in record.updates if u.by_s - u.after_s <= PATTERN_S]
    counts = np.bincount((np.array(known_s) % DAY_S // HOUR_S).astype(np.intp), minlength=BINS).astype(np.float64)
    for hour, n in record.folded:
        counts[hour % BINS] += n
    return counts
