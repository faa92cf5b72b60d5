import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.aimd import Aimd
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
UNKNOWN = History.of([], 0.0)


def test_the_first_interval_is_the_shortest() -> None:
    assert Aimd().verdict(UNKNOWN, None, 5.0) == Verdict(5.0 + HOUR, "aimd", HOUR)


def test_the_interval_is_halved_at_a_change_and_else_grows_by_half_an_hour() -> None:
    assert Aimd().verdict(UNKNOWN, None, 5.0, ContactOutcome(6 * HOUR, changed=True)).state == 3 * HOUR
    assert Aimd().verdict(UNKNOWN, None, 5.0, ContactOutcome(6 * HOUR, changed=False)).state == 6.5 * HOUR


def test_the_interval_is_kept_between_an_hour_and_a_day() -> None:
    assert Aimd().verdict(UNKNOWN, None, 5.0, ContactOutcome(HOUR, changed=True)).state == HOUR
    assert Aimd().verdict(UNKNOWN, None, 5.0, ContactOutcome(DAY, changed=False)).state == DAY


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"factor": 1.5}, "factor must be a number from 0 to 1, not 1.5"),
        ({"step_s": -1.0}, "step must be a finite number of 0 or more, not -1"),
        ({"min_s": 2 * DAY}, r"min \(172800 s\) must not exceed max \(86400 s\)"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Aimd(**parameters)
