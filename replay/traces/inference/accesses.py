"""An access log in memory: requests with the statuses, sizes and validators of their responses.

Units: times are Unix seconds (UTC, float64), sizes bytes. Missing values are UNKNOWN.
"""

from array import array
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.columns.columns import IdArray, Requests, is_in_order
from bestbefore.replay.traces.columns.names import NameColumn

UNKNOWN = -1
WHOLE = (200, 203)
"""The statuses of responses with the whole object."""
ANSWERED = (*WHOLE, 304)
"""The statuses of requests that a cache could have answered."""


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """The GET requests in a log of a server, a proxy or a browser, ordered by time. All columns have one length."""

    requests: Requests
    statuses: NDArray[np.int16]
    sizes_bytes: NDArray[np.int64]
    """The sizes of the response bodies, as closely as the log has them."""
    validator_ids: IdArray
    validators: tuple[str, ...]
    """Last-Modified, ETag or a hash of the body; the object is unchanged between responses with the same validator."""
    agent_ids: IdArray
    """The ids of user agents, as responses differ between agents, e.g. in content coding; names are not kept."""
    late_s: float = 0.0
    """The largest difference between a time in the log and a later one before it: logs are written when responses end,
    and clocks are set back."""

    @classmethod
    def of(
        cls,
        times_s: NDArray[np.float64],
        clients: tuple[IdArray, tuple[str, ...]],
        objects: tuple[IdArray, tuple[str, ...]],
        *,
        statuses: NDArray[np.int16] | None = None,
        sizes_bytes: NDArray[np.int64] | None = None,
        validators: tuple[IdArray, tuple[str, ...]] | None = None,
        agent_ids: IdArray | None = None,
    ) -> Self:
        """Make accesses from rows in any order; omitted columns are UNKNOWN in all rows."""
        unknown = np.full(len(times_s), UNKNOWN, dtype=np.int32)
        validator_ids, validator_names = validators or (unknown, ())
        columns = (
            unknown.astype(np.int16) if statuses is None else statuses,
            unknown.astype(np.int64) if sizes_bytes is None else sizes_bytes,
            validator_ids,
            unknown if agent_ids is None else agent_ids,
        )
        late_s = 0.0
        if not is_in_order(times_s):
            late_s = float((np.maximum.accumulate(times_s) - times_s).max())
            order = times_s.argsort(kind="stable")
            columns = tuple(column[order] for column in columns)  # type: ignore[assignment]
        requests = Requests.of(times_s, clients[0], objects[0], clients[1], objects[1])
        statuses, sizes_bytes, validator_ids, agent_ids = columns
        return cls(requests, statuses, sizes_bytes, validator_ids, validator_names, agent_ids, late_s)

    def __len__(self) -> int:
        return len(self.requests)

    def answered(self) -> Requests:
        """Return the requests that a cache could answer: those with the whole object or 304 as response."""
        kept = np.isin(self.statuses, (*ANSWERED, UNKNOWN))
        if kept.all():
            return self.requests
        r = self.requests
        return Requests(r.times_s[kept], r.client_ids[kept], r.object_ids[kept], r.clients, r.objects)


class AccessRows:
    """The rows of an access log, appended by a reader in any order."""

    def __init__(self) -> None:
        self._times = array("d")
        self._clients = NameColumn()
        self._objects = NameColumn()
        self._statuses = array("h")
        self._sizes = array("q")
        self._validators = NameColumn()
        self._agents = NameColumn()

    def append(
        self,
        time_s: float,
        client: str,
        object_: str,
        *,
        status: int = UNKNOWN,
        size_bytes: int = UNKNOWN,
        validator: str | None = None,
        agent: str | None = None,
    ) -> None:
        self._times.append(time_s)
        self._clients.append(client)
        self._objects.append(object_)
        self._statuses.append(status)
        self._sizes.append(size_bytes)
        self._validators.append(validator)
        self._agents.append(agent)

    def accesses(self) -> Accesses:
        """Return all rows ordered by time. Columns in order are not copied, so that no row can be appended later."""
        return Accesses.of(
            np.asarray(self._times, dtype=np.float64),
            (self._clients.ids, self._clients.names),
            (self._objects.ids, self._objects.names),
            statuses=np.asarray(self._statuses, dtype=np.int16),
            sizes_bytes=np.asarray(self._sizes, dtype=np.int64),
            validators=(self._validators.ids, self._validators.names),
            agent_ids=self._agents.ids,
        )
