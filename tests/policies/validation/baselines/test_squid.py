import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.squid import Squid
from bestbefore.policies.validation.machinery.verdict import Verdict

DAY = 86400.0
DEFAULT = Squid()


def test_a_copy_lives_for_a_fifth_of_the_time_since_the_last_update() -> None:
    assert DEFAULT.verdict(History.of([1000.0], 0.0), None, 2000.0) == Verdict(2200.0, "squid")


def test_a_last_modified_from_before_observation_counts() -> None:
    assert DEFAULT.verdict(History.of([], 500.0, last_modified_s=300.0), None, 1300.0).expiry_s == 1500.0


def test_no_copy_lives_for_more_than_max() -> None:
    assert DEFAULT.verdict(History.of([0.0], 0.0), None, 100 * DAY).expiry_s == 103 * DAY


def test_min_is_the_lifetime_only_where_there_is_no_time_to_take_a_part_of() -> None:
    squid = Squid(min_s=60.0)
    assert squid.verdict(History.of([], 0.0), None, 1000.0).expiry_s == 1060.0
    assert squid.verdict(History.of([1000.0], 0.0), None, 1000.0).expiry_s == 1060.0
    assert squid.verdict(History.of([990.0], 0.0), None, 1000.0).expiry_s == 1002.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"percent": -1.0}, "percent must be a finite number of 0 or more, not -1"),
        ({"min_s": 7200.0, "max_s": 3600.0}, r"min \(7200 s\) must not exceed max \(3600 s\)"),
        ({"max_s": float("inf")}, "max must be a finite number of 0 or more, not inf"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Squid(**parameters)
