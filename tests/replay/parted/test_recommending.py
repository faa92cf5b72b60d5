"""The counts that a recommendation asks of parts are those of the whole trace, on a recorded trace."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.commands.scenario_options import ScenarioOptions
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.recommending import PartedReplays, PartReader, Question, replayed_ends
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.parts import Parts
from bestbefore.replay.recommend import PartCounts, WholeReplays
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

DATA = Path(__file__).parents[2] / "data"
SPECS = ("ttl:alpha=0.2", "renewal:price=6,fallback=ttl+group,siblings=0.5", "fixed:interval=6h")


class Here:
    """Answers in this process, as if many threads did."""

    threads = 8

    def __init__(self, reader: PartReader) -> None:
        self._reader = reader
        self.asked: list[int] = []

    def __call__(self, questions: Sequence[tuple[int, Question]], what: str) -> list[Any]:
        self.asked += [part for part, _ in questions]
        return [self._reader(question) for question in questions]


def evaluate(count: Any, policies: Sequence[Policy]) -> list[PartCounts]:
    return [count(policy) for policy in policies]


@pytest.mark.slow
def test_parts_have_the_counts_of_the_whole(tmp_path: Path) -> None:
    trace = read_updates(DATA / "excerpt.updates.csv", ignore), read_requests(DATA / "excerpt.requests.csv.gz", ignore)
    given = ScenarioOptions(None, 1706918400.0, Cache.SHARED, Grouping.DOMAIN)
    whole = Parts.of(given.made(*trace, Warm.CONTACTS, warn=ignore), trace[1])
    parted = split(*trace, tmp_path / "t", "domain", 5)
    make = partial(given.from_(parted.first_s).made, warm=Warm.CONTACTS, warn=ignore)
    ask = Here(PartReader(parted, tmp_path / "t", make))
    ends = replayed_ends(parted, ask)
    assert ends == (whole.start_s, whole.end_s)
    policies = [point.policy for spec in SPECS for point in points_of(spec)]
    for scenario, is_first in ((whole.first, True), (whole.then, False)):
        expected = WholeReplays(Engines(scenario), evaluate)
        found = PartedReplays(parted, ask, ends, is_first)
        sizes = found.sizes({})
        assert list(sizes.items()) == list(expected.sizes({}).items())
        del ask.asked[:]
        counted = found.count({"ipr", "cft"}, {}, policies)
        assert len(set(ask.asked)) < len(ask.asked)  # a large part is asked by several threads
        for ours, theirs in zip(counted, expected.count({"ipr", "cft"}, {}, policies), strict=True):
            assert ours == theirs
        assert found.obstacle(policies[1]) is None


def test_times_without_a_request_are_refused(tmp_path: Path) -> None:
    one = np.zeros(2, dtype=np.int32)
    trace = Updates.of(np.array([1.0, 2.0]), one, ("a/x",)), Requests.of(np.full(2, 5.0), one, one, ("c",), ("a/x",))
    parted = split(*trace, tmp_path / "t", "domain", 1)

    def ends(test_start_s: float) -> tuple[float, float]:
        given = ScenarioOptions(0.0, test_start_s, Cache.SHARED, Grouping.DOMAIN)
        make = partial(given.made, warm=None, warn=ignore)
        return replayed_ends(parted, Here(PartReader(parted, tmp_path / "t", make)))

    with pytest.raises(ValueError, match="no request to replay"):
        ends(6.0)
    with pytest.raises(ValueError, match="all requests came at the same time"):
        ends(0.0)
