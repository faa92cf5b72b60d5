"""The selection of the events of some objects from a trace."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.columns.columns import Requests, Updates


def updates_of(updates: Updates, objects: Collection[str]) -> Updates:
    """Return the updates of these objects."""
    kept = _are_in(updates.objects, objects)[updates.object_ids]
    return Updates(updates.times_s[kept], updates.object_ids[kept], updates.objects)


def requests_of(requests: Requests, objects: Collection[str]) -> Requests:
    """Return the requests for these objects."""
    kept = _are_in(requests.objects, objects)[requests.object_ids]
    return Requests(
        requests.times_s[kept], requests.client_ids[kept], requests.object_ids[kept], requests.clients, requests.objects
    )


def _are_in(names: tuple[str, ...], objects: Collection[str]) -> NDArray[np.bool_]:
    return np.array([name in objects for name in names], dtype=bool)
