"""The finished points of sweeps, in a file that a kill leaves usable."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.validation.policy import Policy
from bestbefore.policies.validation.spec import params
from bestbefore.replay.breakdown import Breakdown
from bestbefore.replay.engines import Through
from bestbefore.replay.refresh import RefreshScenario
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.whole_file import naming

Row = Mapping[str, float | str | None]
"""Counts by the names and in the order in which they are reported, of a part also which it is. None: none to count."""
Rows = Sequence[Row]
"""What is counted for a policy: of the whole trace first, then of its parts."""


class Finished:
    """What was counted for points of one or several replays. Each is a line of the file, written when it is known."""

    def __init__(self, path: Path, replay: str) -> None:
        """`replay` says what is replayed; points that were counted for another are passed over.

        Raises OSError if the file is there and cannot be read. A line cut short by a kill is passed over.
        """
        self._path = path
        self._replay = replay
        self._rows: dict[str, Rows] = {}
        text = path.read_text(errors="replace") if path.exists() else ""
        self._ends_in_line = text.endswith("\n") or not text
        for line in text.split("\n"):
            self._recall(line)

    def get(self, policy: Policy) -> Rows | None:
        """What was counted for this policy, if it was."""
        return self._rows.get(self._key(self._replay, policy.name, params(policy)))

    def add(self, policy: Policy, rows: Rows) -> None:
        """Keep what was counted for this policy. Raises OSError."""
        line = {"replay": self._replay, "policy": policy.name, "params": params(policy), "counts": rows}
        with naming(self._path), self._path.open("a") as file:
            file.write(("" if self._ends_in_line else "\n") + json.dumps(line) + "\n")
        self._ends_in_line = True
        self._rows[self._key(self._replay, policy.name, params(policy))] = rows

    def _recall(self, line: str) -> None:
        try:
            point = json.loads(line)
            self._rows[self._key(point["replay"], point["policy"], point["params"])] = point["counts"]
        except (ValueError, KeyError, TypeError):
            return

    @staticmethod
    def _key(replay: str, policy: str, parameters: Mapping[str, object]) -> str:
        return json.dumps([replay, policy, parameters], sort_keys=True)


def identity(
    scenario: Scenario, breakdowns: Iterable[Breakdown] = (), wanted: Through = Through.FAST
) -> str:
    """A name for what is replayed: another for other updates, requests or parts, or if they are replayed another way.

    It is made of the events themselves: the names and dates of files do not matter. Engines count the same, but who
    wants to see that by another one does not want what was counted by the first.
    """
    digest = blake2b(digest_size=16)
    for column in _columns(scenario):
        digest.update(f"{column.dtype} {len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column).data)
    for names in (scenario.updates.objects, scenario.requests.objects, scenario.requests.clients):
        digest.update(json.dumps(names).encode())
    warmup = None if scenario.warmup is None else [scenario.warmup.warm, scenario.warmup.test_start_s]
    way = [scenario.cache, scenario.grouping, scenario.origin_s, warmup, wanted]
    digest.update(_text(way, breakdowns))
    return digest.hexdigest()


def refresh_identity(
    scenario: RefreshScenario, min_interval_s: float, breakdowns: Iterable[Breakdown] = ()
) -> str:
    """The same for what is refreshed."""
    digest = blake2b(digest_size=16)
    for name, history in sorted(scenario.known.histories.items()):
        digest.update(_text([name, history.since_s, scenario.first_s[name], len(history.times_s)], ()))
        digest.update(np.ascontiguousarray(history.times_s).data)
    digest.update(_text([scenario.known.grouping, scenario.warm, min_interval_s], breakdowns))
    return digest.hexdigest()


def _columns(scenario: Scenario) -> Iterator[NDArray[Any]]:
    """The events from which all is known and counted."""
    updates, requests = scenario.updates, scenario.requests
    yield from (updates.times_s, updates.object_ids, requests.times_s, requests.client_ids, requests.object_ids)
    if scenario.contacts_before is not None:
        yield from (scenario.contacts_before.times_s, scenario.contacts_before.object_ids)


def _text(way: Sequence[object], breakdowns: Iterable[Breakdown]) -> bytes:
    parts = [[breakdown.key, sorted(breakdown.parts.items())] for breakdown in breakdowns]
    return json.dumps([way, parts, version("bestbefore")]).encode()
