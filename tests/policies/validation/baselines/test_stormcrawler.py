import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.stormcrawler import StormCrawler
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
UNKNOWN = History.of([], 0.0)


def test_the_first_interval_is_a_day() -> None:
    assert StormCrawler().verdict(UNKNOWN, None, 5.0) == Verdict(5.0 + DAY, "stormcrawler", DAY)


def test_at_a_change_the_interval_goes_half_of_the_way_to_an_hour() -> None:
    verdict = StormCrawler().verdict(UNKNOWN, None, 5.0, ContactOutcome(DAY, changed=True))
    assert verdict == Verdict(5.0 + 12.5 * HOUR, "stormcrawler", 12.5 * HOUR)
    assert StormCrawler(decrease=1.0).verdict(UNKNOWN, None, 5.0, ContactOutcome(DAY, changed=True)).state == HOUR


def test_without_a_change_it_grows_by_half_up_to_two_weeks() -> None:
    assert StormCrawler().verdict(UNKNOWN, None, 5.0, ContactOutcome(DAY, changed=False)).state == 1.5 * DAY
    assert StormCrawler().verdict(UNKNOWN, None, 5.0, ContactOutcome(13 * DAY, changed=False)).state == 14 * DAY


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"increase": -0.1}, "increase must be a finite number of 0 or more, not -0.1"),
        ({"decrease": 1.1}, "decrease must be a number from 0 to 1, not 1.1"),
        ({"initial_s": float("inf")}, "initial must be a finite number of 0 or more, not inf"),
        ({"max_s": 30.0}, r"min \(3600 s\) must not exceed max \(30 s\)"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StormCrawler(**parameters)
