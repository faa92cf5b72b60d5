import math

import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.indttl import IndTtl
from bestbefore.policies.validation.rules.ttl import Ttl

HOUR = 3600.0
DAY = 86400.0
T = 5 * DAY
CALM = [d * DAY + 12 * HOUR for d in range(4)]  # one a day up to t - W: one is expected in the window


def history(*in_window_h: float, before: list[float] = CALM) -> History:
    return History.of([*before, *(4 * DAY + h * HOUR for h in in_window_h)], 0.0)


def reason(known: History, t: float = T, window_s: float = math.inf, **params: float) -> str:
    return IndTtl.alternatives[IndTtl(**params).decide(HistoryFeatures(known, None, t, window_s=window_s)).reason]


def test_case_a_twice_the_updates_expected_are_a_burst() -> None:
    burst = history(12, 13)
    assert IndTtl(alpha=0.3).verdict(burst, None, T) == Ttl(0.3).verdict(burst, None, T)


def test_case_a_fewer_are_none() -> None:
    calm = history(12)
    assert IndTtl(theta=0.3).verdict(calm, None, T) == IndHist(0.3).verdict(calm, None, T)
    assert reason(history(12, 13), threshold=2.5) == "indhist"


def test_case_b_updates_where_none_were_expected_are_a_burst() -> None:
    assert reason(history(12, before=[])) == "ttl"
    assert reason(history(12, before=[]), threshold=1000.0) == "ttl"


def test_case_b_in_the_first_window_nothing_is_expected() -> None:
    assert reason(History.of([5 * HOUR], 0.0), t=DAY) == "ttl"


def test_case_c_no_updates_are_no_burst() -> None:
    assert reason(history(before=[])) == "indhist"
    assert reason(history()) == "indhist"
    assert reason(history(before=[]), threshold=1e-6) == "indhist"


def test_the_window_includes_its_end_and_not_its_start() -> None:
    assert reason(history(24, before=[])) == "ttl"
    assert reason(history(0, before=[])) == "indhist"


def test_a_threshold_of_0_is_ttl() -> None:
    for known in (history(), history(12), history(12, 13), history(before=[])):
        assert IndTtl(threshold=0.0).verdict(known, None, T) == Ttl().verdict(known, None, T)


def test_an_infinite_threshold_is_indhist_also_where_none_were_expected() -> None:
    for known in (history(), history(12, 13), history(12, before=[])):
        assert IndTtl(threshold=math.inf).verdict(known, None, T) == IndHist().verdict(known, None, T)


def test_a_ratio_that_is_the_threshold_but_for_rounding_is_a_burst() -> None:
    before = [d * DAY + hour * HOUR for hour, n in ((7, 2), (8, 4), (9, 3), (10, 1)) for d in range(n)]
    known = History.of([*before, 10 * DAY + 30, 10 * DAY + 60], 0.0)
    assert 2 / 10 + 4 / 10 + 3 / 10 + 1 / 10 > 1.0
    assert reason(known, t=11 * DAY) == "ttl"


def test_indhist_takes_the_whole_history_once_a_burst_is_over() -> None:
    known = history(12)
    assert IndTtl(theta=1.0).verdict(known, None, T).expiry_s == IndHist(1.0).verdict(known, None, T).expiry_s


def test_what_is_expected_is_counted_in_the_window_of_the_history() -> None:
    doubled = history(12, 13, before=[0.5 * DAY, 0.51 * DAY, 0.52 * DAY, 0.53 * DAY, 3.5 * DAY])
    assert reason(doubled) == "indhist"  # five in four days were expected to be 1.25 in the window
    assert reason(doubled, window_s=T - DAY) == "ttl"  # one in three days, 1/3
    assert reason(doubled, window_s=T - 4 * DAY, threshold=1e6) == "ttl"  # none


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"window_s": 0.0}, "window must be a finite number of 1 or more, not 0"),
        ({"window_s": math.inf}, "window must be a finite number of 1 or more, not inf"),
        ({"threshold": -1.0}, "threshold must be a number of 0 or more, or inf, not -1"),
        ({"threshold": math.nan}, "threshold must be a number of 0 or more, or inf, not nan"),
    ],
)
def test_parameters_out_of_range_are_refused(params: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IndTtl(**params)
