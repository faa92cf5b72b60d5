import re

import pytest

from bestbefore.policies.validation.machinery.spec import params
from bestbefore.policies.validation.rules.indttl import IndTtl
from bestbefore.replay.sweeps.grid import MOST_POINTS, points_of


def test_a_spec_without_a_range_is_one_point_as_it_was_written() -> None:
    (point,) = points_of("indttl:theta=.1, window=1d")
    assert (point.spec, point.sweep, point.swept) == ("indttl:theta=.1, window=1d", "indttl:theta=.1, window=1d", ())
    assert point.policy == IndTtl(theta=0.1, window_s=86400.0)


def test_values_are_the_same_multiple_apart_from_end_to_end() -> None:
    """From 0.1 to 0.8 in four: 0.1, 0.2, 0.4, 0.8."""
    points = points_of("indhist:theta=0.1..0.8/4")
    assert [point.spec for point in points] == [f"indhist:theta={theta}" for theta in (0.1, 0.2, 0.4, 0.8)]


def test_linear_values_are_the_same_distance_apart() -> None:
    assert [params(point.policy)["alpha"] for point in points_of("ttl:alpha=0..1/5:lin")] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_the_spec_of_a_point_gives_exactly_its_policy() -> None:
    for point in points_of("indttl:theta=0.02..0.7/12,window=1h..28d/5"):
        (again,) = points_of(point.spec)
        assert again.policy == point.policy


def test_inner_values_lie_within_their_seventh_digit() -> None:
    values = [params(point.policy)["theta"] for point in points_of("indhist:theta=0.02..0.7/12")]
    assert values == pytest.approx([0.02 * 35 ** (i / 11) for i in range(12)], rel=5e-7)


def test_what_a_spec_names_is_known_as_it_was_written() -> None:
    assert points_of("indttl: theta=.1,window = 1d")[0].written == {"theta": ".1", "window": "1d"}
    assert points_of("indttl")[0].written == {}


def test_several_ranges_are_a_grid_of_which_the_last_varies_fastest() -> None:
    points = points_of("indttl:theta=1..2/2,threshold=3,alpha=1..4/3")
    assert [point.spec.removeprefix("indttl:") for point in points] == [
        f"theta={theta},threshold=3,alpha={alpha}" for theta in (1, 2) for alpha in (1, 2, 4)
    ]
    assert {point.swept for point in points} == {("theta", "alpha")}


def test_durations_may_have_units() -> None:
    values = [params(point.policy)["interval"] for point in points_of("fixed:interval=1m..4m/3")]
    assert values == [60.0, 120.0, 240.0]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("ttl:alpha=0..1/5", "'alpha=0..1/5': values that grow by a factor cannot begin at 0"),
        ("ttl:alpha=1..0.5/5", "'alpha=1..0.5/5': expected a range from a smaller to a larger value"),
        ("ttl:alpha=nan..1/5", "'alpha=nan..1/5': expected a range from a smaller to a larger value"),
        ("ttl:alpha=0.1..1", "'alpha=0.1..1': expected A..B/N with an N of 2 or more, such as 0.1..1/12"),
        ("ttl:alpha=0.1..1/1", "'alpha=0.1..1/1': expected A..B/N"),
        ("ttl:alpha=0.1..1/5:log", "'alpha=0.1..1/5:log': expected A..B/N"),
        ("ttl:alpha=..", "'alpha=..': expected A..B/N with an N of 2 or more, such as 0.02..0.7/12"),
        ("ttl:alpha=a..b/3", "'alpha=a..b/3': 'a' is not a number"),
        ("ttl:alpha=1h..2h/3", "alpha: '1h' is not a number"),
        ("ttl:max_ttl=1h..inf/3", "'max_ttl=1h..inf/3': expected a range from a smaller to a larger value"),
        ("indagg:threshold=0.5..3/4", "threshold must be a number from 0 to 1, not"),
        ("ttl:alpa=1..2/2", "unknown parameter of ttl 'alpa', did you mean 'alpha'?"),
        (f"ttl:alpha=1..2/{MOST_POINTS + 1}", "more than 10,000 points"),
        (f"ttl:alpha=1..2/1{'0' * 5_000}", "more than 10,000 points"),
        ("indttl:theta=1..2/200,alpha=1..2/200", "more than 10,000 points"),
    ],
)
def test_a_range_that_cannot_be_says_why(sweep: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        points_of(sweep)
