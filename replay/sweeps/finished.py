"""The finished points of sweeps, in a file that a kill leaves usable."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.whole_file import naming

Row = Mapping[str, float | str | None]
"""Counts by the names and in the order in which they are reported, of a part also which it is. None: none to count."""
Rows = Sequence[Row]
"""What is counted for a policy: of the whole trace first, then of its parts."""


class Finished:
    """The finished points of one or several replays. Each is a line of the file, written when it is known."""

    def __init__(self, path: Path, replay: str) -> None:
        """`replay` names what is replayed (see `identity`); points that were counted for another are ignored.

        Raises OSError if the file is there and cannot be read. A line cut short by a kill is ignored.
        """
        self._path = path
        self._replay = replay
        self._rows: dict[str, Rows] = {}
        text = path.read_text(errors="replace") if path.exists() else ""
        self._ends_in_line = text.endswith("\n") or not text
        for line in text.split("\n"):
            self._recall(line)

    def get(self, policy: Policy) -> Rows | None:
        """Return what was counted for this policy, if it was."""
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
