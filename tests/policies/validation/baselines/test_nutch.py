import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.nutch import Nutch
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.verdict import Verdict

DAY = 86400.0
T = 1000 * DAY
UNKNOWN = History.of([], 0.0)
PLAIN = Nutch(sync=0.0)


def test_the_first_interval_is_thirty_days() -> None:
    assert PLAIN.verdict(UNKNOWN, None, T) == Verdict(T + 30 * DAY, "nutch", 30 * DAY)


def test_the_interval_shrinks_by_a_fifth_at_a_change_and_else_grows_by_two_fifths() -> None:
    assert PLAIN.verdict(UNKNOWN, None, T, ContactOutcome(DAY, changed=True)).state == pytest.approx(0.8 * DAY)
    assert PLAIN.verdict(UNKNOWN, None, T, ContactOutcome(DAY, changed=False)).state == pytest.approx(1.4 * DAY)


def test_the_interval_is_kept_between_a_minute_and_a_year() -> None:
    assert PLAIN.verdict(UNKNOWN, None, T, ContactOutcome(61.0, changed=True)).state == 60.0
    assert PLAIN.verdict(UNKNOWN, None, T, ContactOutcome(364 * DAY, changed=False)).state == 365 * DAY


def test_the_next_contact_moves_towards_the_time_of_the_last_change() -> None:
    # An hour becomes 1.4 h; unchanged for one hour, so 0.3 h earlier than that.
    an_hour_old = History.of([T - 3600.0], 0.0)
    verdict = Nutch().verdict(an_hour_old, None, T, ContactOutcome(3600.0, changed=False))
    assert verdict.state == pytest.approx(1.4 * 3600)
    assert verdict.expiry_s == pytest.approx(T + 1.1 * 3600)


def test_the_interval_is_no_shorter_than_the_time_without_a_change() -> None:
    ten_days_old = History.of([T - 10 * DAY], 0.0)
    verdict = Nutch().verdict(ten_days_old, None, T, ContactOutcome(DAY, changed=False))
    assert verdict.state == 10 * DAY
    assert verdict.expiry_s == T + 7 * DAY


def test_what_had_changed_is_taken_to_have_changed_now() -> None:
    an_hour_old = History.of([T - 3600.0], 0.0)
    verdict = Nutch().verdict(an_hour_old, None, T, ContactOutcome(1000.0, changed=True))
    assert verdict.expiry_s == pytest.approx(T + 800.0)


def test_after_years_without_a_change_the_expiry_does_not_lie_in_the_past() -> None:
    long_ago = History.of([1.0], 0.0)
    t = 4000 * DAY
    assert Nutch().verdict(long_ago, None, t, ContactOutcome(DAY, changed=False)).expiry_s == t


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"initial_s": -1.0}, "initial must be a finite number of 0 or more, not -1"),
        ({"increase": -0.1}, "increase must be a finite number of 0 or more, not -0.1"),
        ({"decrease": 1.1}, "decrease must be a number from 0 to 1, not 1.1"),
        ({"sync": 2.0}, "sync must be a number from 0 to 1, not 2"),
        ({"max_s": 30.0}, r"min \(60 s\) must not exceed max \(30 s\)"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Nutch(**parameters)
