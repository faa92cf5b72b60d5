"""The evidence in a record on the object's rate of change and its hours of the day."""

import numpy as np

from bestbefore.addon.engine.learning import Record
from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray

PATTERN_S = 2 * HOUR_S
"""An update of which only a longer interval is known says nothing of the hour of the day."""
LEAST_H = 1.0 / 3600.0


def seen_of(record: Record) -> Evidence:
    """Return what contacts have shown up to the last one.

    An interval in which it was found unchanged is open; of one that ended with a dated update the part from the update
    on, since others may hide before it; of a feed, which lists its postings, all but where one is without time.
    """
    hours = (record.last_contact_s - record.since_s) / HOUR_S
    if hours <= 0.0:
        return Evidence()
    vague_h = [max((u.by_s - u.after_s) / HOUR_S, LEAST_H) for u in record.updates if not u.exact]
    dated = record.n_updates - len(vague_h)
    open_h = hours - sum(vague_h) - record.hidden_s / HOUR_S
    return Evidence(dated, max(open_h, LEAST_H if dated else 0.0), np.array(vague_h))


def hours_of_updates(record: Record) -> FloatArray:
    """(24,) the updates in each UTC hour of the day, as far as their hours are known."""
    known_s = [u.point_s for u in record.updates if u.by_s - u.after_s <= PATTERN_S]
    counts = np.bincount((np.array(known_s) % DAY_S // HOUR_S).astype(np.intp), minlength=BINS).astype(np.float64)
    for hour, n in record.folded:
        counts[hour % BINS] += n
    return counts
