from pathlib import Path

import pytest

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Rows
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.sweep import sweeping

POINTS = points_of("ttl:alpha=1..4/4:lin")


class Counting:
    """Counts alpha as hits, notes it, and is interrupted at one of them."""

    def __init__(self, interrupted_at: float | None = None) -> None:
        self.interrupted_at = interrupted_at
        self.counted: list[float] = []

    def __call__(self, policy: Policy) -> Rows:
        alpha = params(policy)["alpha"]
        assert isinstance(alpha, float)
        if alpha == self.interrupted_at:
            raise KeyboardInterrupt
        self.counted.append(alpha)
        return [{"hits": alpha}, {"domain": "x", "hits": None}]


def hits(counting: Counting, jobs: int, finished: FinishedPoints | None = None) -> list[object]:
    with sweeping(POINTS, counting, jobs, finished) as results:
        found = dict(results)
    assert sorted(found) == list(range(len(POINTS)))
    assert all(part == {"domain": "x", "hits": None} for _, part in found.values())
    return [found[place][0]["hits"] for place in range(len(POINTS))]


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_point_gets_its_counts(jobs: int) -> None:
    assert hits(Counting(), jobs) == [1.0, 2.0, 3.0, 4.0]


def test_what_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "finished.jsonl"
    with pytest.raises(KeyboardInterrupt):
        hits(Counting(interrupted_at=3.0), 1, FinishedPoints(path, "trace"))
    counting = Counting()
    assert hits(counting, 1, FinishedPoints(path, "trace")) == [1.0, 2.0, 3.0, 4.0]
    assert counting.counted == [3.0, 4.0]


def test_another_trace_starts_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "finished.jsonl"
    hits(Counting(), 1, FinishedPoints(path, "trace"))
    counting = Counting()
    hits(counting, 1, FinishedPoints(path, "other"))
    assert counting.counted == [1.0, 2.0, 3.0, 4.0]
