"""The finished points of sweeps, kept in a file from which an interrupted sweep is resumed."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.whole_file import naming

Row = Mapping[str, float | str | None]
"""Counts with the names and in the order of reports, with the name of the part where it is one. None: undefined."""
Rows = Sequence[Row]
"""The counts under a policy: of the whole trace first, then of its parts."""


class FinishedPoints:
    """The finished points of one or several replays. Each is a line of the file, appended when it is finished."""

    def __init__(self, path: Path, replay: str) -> None:
        """Read the file; `replay` is the `identity` of the replay, points of other replays are ignored.

        Raises OSError if the file exists and cannot be read. A line truncated by a kill is ignored.
        """
        self._path = path
        self._replay = replay
        self._rows: dict[str, Rows] = {}
        text = path.read_text(errors="replace") if path.exists() else ""
        self._ends_in_line = text.endswith("\n") or not text
        for line in text.split("\n"):
            self._recall(line)

    def of(self, replay: str) -> "FinishedPoints":
        """Return the finished points of another replay in the same file, as read before."""
        other = copy(self)
        other._replay = replay  # noqa: SLF001 (the same class)
        return other

    def get(self, policy: Policy) -> Rows | None:
        """Return the counts under this policy; None if it is not finished."""
        return self._rows.get(self._key(self._replay, policy.name, params(policy)))

    def add(self, policy: Policy, rows: Rows) -> None:
        """Append the counts under this policy. Raises OSError."""
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
