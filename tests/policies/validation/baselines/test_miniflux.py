import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.miniflux import Miniflux
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
T = 30 * DAY


def posted(n: int) -> History:
    """n entries in the week before T, and others before that."""
    return History.of([*(T - 7 * DAY + (i + 1) * 60.0 for i in range(n)), 1.0, T - 7 * DAY], 0.0)


def test_there_are_as_many_polls_in_a_week_as_there_were_entries() -> None:
    assert Miniflux().verdict(posted(42), None, T) == Verdict(T + 4 * HOUR, "miniflux")
    assert Miniflux(factor=2.0).verdict(posted(42), None, T).expiry_s == T + 2 * HOUR


def test_a_feed_without_entries_is_polled_once_a_day() -> None:
    assert Miniflux().verdict(posted(0), None, T).expiry_s == T + DAY
    assert Miniflux(factor=0.0).verdict(posted(42), None, T).expiry_s == T + DAY


def test_the_interval_is_kept_between_min_and_max() -> None:
    assert Miniflux().verdict(posted(3), None, T).expiry_s == T + DAY
    assert Miniflux().verdict(posted(5000), None, T).expiry_s == T + 300.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"factor": -1.0}, "factor must be a finite number of 0 or more, not -1"),
        ({"min_s": 2 * DAY}, r"min \(172800 s\) must not exceed max \(86400 s\)"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Miniflux(**parameters)
