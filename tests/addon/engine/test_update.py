import pytest

from bestbefore.addon.engine.update import Update

EXACT = Update(150.0, 150.0)


def test_an_interval_stands_for_its_middle_and_a_known_time_for_itself() -> None:
    assert (EXACT.exact, EXACT.point_s) == (True, 150.0)
    assert (Update(100.0, 200.0).exact, Update(100.0, 200.0).point_s) == (False, 150.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (EXACT, Update(150.0, 150.0), True),
        (EXACT, Update(151.0, 151.0), False),
        (EXACT, Update(100.0, 150.0), True),
        (EXACT, Update(150.0, 200.0), False),  # which is after 150
        (Update(100.0, 200.0), Update(199.0, 300.0), True),
        (Update(100.0, 200.0), Update(200.0, 300.0), False),
    ],
)
def test_two_may_be_one_where_their_intervals_meet(one: Update, other: Update, same: bool) -> None:
    assert one.may_be(other) is same
    assert other.may_be(one) is same


def test_what_both_can_be_is_the_time_known_or_the_common_interval() -> None:
    assert EXACT.narrowed(Update(100.0, 200.0)) == Update(100.0, 200.0).narrowed(EXACT) == EXACT
    assert Update(100.0, 200.0).narrowed(Update(150.0, 300.0)) == Update(150.0, 200.0)
