"""The evidence on an object's rate of change from contacts at any distances, as papers and benchmarks have it."""

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.units import HOUR_S, FloatArray

LEAST_QUIET_S = 0.5
"""Half the resolution of a Last-Modified: the least time since an update that a contact can show."""


def evidence_at_contacts(
    lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray | None = None
) -> Evidence:
    """Make the evidence of n contacts at any distances.

    All arrays are (n,): the time since the contact before, above 0; whether the object had changed since then; and
    the time from the latest update to the contact, NaN where unknown. The last is read only where the object
    changed, and must not exceed the interval; earlier updates of the interval remain unknown.
    """
    changed = np.asarray(changed, dtype=np.bool_)
    lengths_h, quiet_h = _checked(lengths_s, changed, since_update_s)
    dated = changed & ~np.isnan(quiet_h)
    open_h = float(lengths_h[~changed].sum() + quiet_h[dated].sum())
    return Evidence(int(dated.sum()), open_h, lengths_h[changed & ~dated])


def _checked(
    lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the lengths, and the times since the latest updates, in hours; ValueError for impossible ones."""
    lengths = np.asarray(lengths_s, dtype=np.float64)
    quiet = np.full(lengths.shape, np.nan) if since_update_s is None else np.asarray(since_update_s, dtype=np.float64)
    if lengths.ndim != 1 or not lengths.shape == changed.shape == quiet.shape:
        raise ValueError(f"{lengths.shape} lengths, {changed.shape} outcomes and {quiet.shape} latest updates")
    wrong = ~(np.isfinite(lengths) & (lengths > 0.0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"contact {i} came {lengths[i]} s after the one before, expected more than 0")
    wrong = changed & ((quiet < 0.0) | (quiet > lengths))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"contact {i} dates the latest update {quiet[i]} s ago, expected 0 to {lengths[i]}")
    return lengths / HOUR_S, np.minimum(np.maximum(quiet, LEAST_QUIET_S), lengths) / HOUR_S
