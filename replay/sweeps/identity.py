"""The identity of a replay, by which finished points of the same replay are recognised.

It is a digest of the events and conditions; the names and dates of files do not matter.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.engines import Through
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.scenario import Scenario


def identity(scenario: Scenario, breakdowns: Iterable[Breakdown] = (), wanted: Through = Through.FAST) -> str:
    """Return the identity of a replay of requests.

    It differs for other updates, requests, breakdowns or conditions. It also depends on the preferred engine, although
    the counts do not, so that a replay with another engine is really run.
    """
    digest = blake2b(digest_size=16)
    for column in _columns(scenario):
        digest.update(f"{column.dtype} {len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column).data)
    for names in (scenario.updates.objects, scenario.requests.objects, scenario.requests.clients):
        digest.update(json.dumps(names).encode())
    known = scenario.warmup
    warmup = None if known is None else [known.warm, known.test_start_s, known.tells_times]
    way = [scenario.cache, scenario.grouping, scenario.origin_s, warmup, wanted]
    digest.update(_text(way, breakdowns))
    return digest.hexdigest()


def refresh_identity(scenario: RefreshScenario, min_interval_s: float, breakdowns: Iterable[Breakdown] = ()) -> str:
    """Return the identity of a replay of objects that are refreshed without requests."""
    digest = blake2b(digest_size=16)
    for name, history in sorted(scenario.known.histories.items()):
        digest.update(_text([name, history.since_s, scenario.first_s[name], len(history.times_s)], ()))
        digest.update(np.ascontiguousarray(history.times_s).data)
    digest.update(_text([scenario.known.grouping, scenario.warm, scenario.tells_times, min_interval_s], breakdowns))
    return digest.hexdigest()


def _columns(scenario: Scenario) -> Iterator[NDArray[Any]]:
    """Yield the columns of the events that determine the counts."""
    updates, requests = scenario.updates, scenario.requests
    yield from (updates.times_s, updates.object_ids, requests.times_s, requests.client_ids, requests.object_ids)
    if scenario.contacts_before is not None:
        yield from (scenario.contacts_before.times_s, scenario.contacts_before.object_ids)
    if scenario.earlier is not None:
        yield from (scenario.earlier.times_s, scenario.earlier.client_ids, scenario.earlier.object_ids)


def _text(way: Sequence[object], breakdowns: Iterable[Breakdown]) -> bytes:
    parts = [[breakdown.key, sorted(breakdown.parts.items())] for breakdown in breakdowns]
    return json.dumps([way, parts, version("bestbefore")]).encode()
