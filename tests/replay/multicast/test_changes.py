import numpy as np
import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.changes import Changes


def test_pages_change_at_their_rates() -> None:
    pages, rates = np.array([3, 5, 8]), np.array([1.0, 20.0, 4.0])
    changed = np.concatenate([found for _, found in Changes(pages, rates, (1,)).by_day(200)])
    for page, rate in zip(pages, rates, strict=True):
        assert (changed == page).sum() / 200 == pytest.approx(rate, rel=0.15)
    assert set(changed.tolist()) == {3, 5, 8}


def test_times_ascend_within_their_day_and_repeat() -> None:
    changes = Changes(np.array([1]), np.array([30.0]), (2,))
    first, again = list(changes.by_day(5)), list(changes.by_day(5))
    for day, ((times_s, pages), (times_again_s, _)) in enumerate(zip(first, again, strict=True)):
        assert len(times_s) == len(pages)
        assert np.all(np.diff(times_s) >= 0.0)
        assert times_s[0] >= day * DAY_S
        assert times_s[-1] < (day + 1) * DAY_S
        assert times_s.tolist() == times_again_s.tolist()


def test_without_pages_nothing_changes() -> None:
    changes = Changes(np.array([], np.intp), np.array([]), (3,))
    assert [len(times_s) for times_s, _ in changes.by_day(3)] == [0, 0, 0]
