"""The substitute for the paper's World Cup trace: recorded requests combined with recorded updates, and its parts.

The World Cup trace has 15 days from 10 June 1998 on; ours has 15 days too. The paper classifies objects as cyclic or
bursty by all 15 days, for reports only; our trace has the same classes.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bestbefore.policies.units import DAY_S
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import IdArray, Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.columns.objects import read_labels
from bestbefore.replay.traces.columns.selection import requests_of, updates_of

ORIGIN_S = 1706227200.0
"""The time at which observation starts."""
DAYS = 15
MERGED_PAIRS = 55
"""The number of pairs of a bursty and a cyclic object that the paper merges into one object each."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Updates and requests of some objects, and the class of each."""

    updates: Updates
    requests: Requests
    classes: Mapping[str, str]

    @classmethod
    def read(cls, work: Work) -> Self:
        """Read the whole trace. Raises TraceError."""
        paths = [work.trace(f"paired/dev.{name}") for name in ("updates.csv.gz", "requests.csv.gz", "objects.csv")]
        updates, requests = read_updates(paths[0], work.warn), read_requests(paths[1], work.warn)
        return cls(updates, requests, read_labels(paths[2], "class"))

    def only(self, objects: Collection[str]) -> "Paired":
        """The updates and requests of these objects."""
        return replace(
            self, updates=updates_of(self.updates, objects), requests=requests_of(self.requests, objects)
        )

    def of_class(self, name: str) -> "Paired":
        """The updates and requests of the objects of this class."""
        return self.only({object_ for object_, own in self.classes.items() if own == name})

    def most_requested(self, class_name: str | None = None) -> list[str]:
        """The objects, of one class or all, the most requested first."""
        asked = np.bincount(self.requests.object_ids, minlength=len(self.requests.objects)).tolist()
        order = sorted(range(len(asked)), key=lambda i: (-asked[i], self.requests.objects[i]))
        names = (self.requests.objects[i] for i in order if asked[i])
        return [name for name in names if class_name is None or self.classes.get(name) == class_name]

    def pairs(self, seed: int) -> dict[str, str]:
        """Return a cyclic object for each bursty one, to be merged with it (section 5.2.1).

        These are the most requested objects of their classes, at most as many as in the paper, paired at random with
        this seed.
        """
        bursty, cyclic = self.most_requested("bursty"), self.most_requested("cyclic")
        n = min(MERGED_PAIRS, len(bursty), len(cyclic))
        partners = np.random.default_rng(seed).permutation(n).tolist()
        return dict(zip(bursty[:n], (cyclic[i] for i in partners), strict=True))

    def merged(self, pairs: Mapping[str, str]) -> "Paired":
        """Return the trace of these pairs, each merged into one object with the name of the second."""
        return self.only({*pairs, *pairs.values()}).renamed(pairs)

    def renamed(self, owner: Mapping[str, str]) -> "Paired":
        """Return the trace with each key of `owner` renamed to its value; events of equal names are merged."""
        updates, requests = self.updates, self.requests
        to_updates, names = _renaming(updates.objects, owner)
        to_requests, asked_names = _renaming(requests.objects, owner)
        return replace(
            self,
            updates=Updates.of(updates.times_s, to_updates[updates.object_ids], names),
            requests=replace(requests, object_ids=to_requests[requests.object_ids], objects=asked_names),
        )

    def first_days(self, days: float) -> "Paired":
        """Return the part of the trace in the first `days` days."""
        end_s = ORIGIN_S + days * DAY_S
        updates = self.updates
        kept = slice(0, int(updates.times_s.searchsorted(end_s)))
        earlier = Updates(updates.times_s[kept], updates.object_ids[kept], updates.objects)
        return replace(self, updates=earlier, requests=self.requests.before(end_s))

    def scenario(
        self, cache: Cache, training_days: float, origin_s: float = ORIGIN_S, warm: Warm | None = None
    ) -> Scenario:
        """Make the scenario of the requests after the training days; histories are complete unless `warm` is given."""
        return Scenario.of(
            self.updates,
            self.requests,
            origin_s=origin_s,
            test_start_s=ORIGIN_S + training_days * DAY_S,
            cache=cache,
            warm=warm,
            warn=lambda _: None,
        )


def _renaming(objects: tuple[str, ...], owner: Mapping[str, str]) -> tuple[IdArray, tuple[str, ...]]:
    """Return the new id of each object, and the names by id."""
    names: dict[str, int] = {}
    numbers = [names.setdefault(owner.get(name, name), len(names)) for name in objects]
    return np.array(numbers, dtype=np.int32), tuple(names)
