import math

import pytest

from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import MILLION, PERIOD_S, PERIODS, CopyControl, GroupSums

DAY = 86400.0
TARGET = 0.05
FIRST = control.FIRST_PRICE / TARGET
NOTHING = [0] * control.SUMS


def after(
    hits: int, *, changed: bool, rate_per_s: float = 1e-5, log_price: float = math.log(FIRST), every_s: float = 10.0,
    times: int = 1, sums: GroupSums | None = None,
) -> GroupSums:
    """The sums of a group with copies that are hit so often, and then validated."""
    sums, t = sums or GroupSums(), 0.0
    copy = CopyControl(rate_per_s, control.millionths(log_price))
    for _ in range(times):
        current_s, predicted = t, 0
        for _ in range(hits):
            t += every_s
            stale = control.predicted_stale(rate_per_s, t - current_s)
            predicted += stale
            sums.add(control.period_of(t), control.of_hits(copy, 1, stale))
        t += every_s
        sums.add(control.period_of(t), control.of_validation(copy, t - current_s, predicted, changed))
    return sums


def price(sums: GroupSums) -> float:
    return math.exp(control.log_price(sums.rows, TARGET))


def stale_in(sums: GroupSums) -> float:
    return control.estimated_stale(sums.rows, 1.0)[1]


def test_a_group_begins_with_the_first_price() -> None:
    assert price(GroupSums()) == pytest.approx(FIRST)


def test_stale_hits_beyond_the_target_raise_the_price_and_fewer_lower_it() -> None:
    many, none = after(99, changed=True, times=30), after(99, changed=False, times=30)
    assert stale_in(many) > TARGET * 3000
    assert price(many) > FIRST > price(none)


def test_the_stale_hits_of_a_copy_whose_object_has_changed_are_those_expected_then() -> None:
    """At a low rate the object changed at any time alike, so that about half of the hits were stale."""
    assert control.shown_stale(control.millionths(0.5), 1e-9, 1e6) == pytest.approx(500.25 * MILLION, rel=1e-4)
    assert stale_in(after(999, changed=True, rate_per_s=1e-8)) == pytest.approx(499.5, rel=0.02)
    assert stale_in(after(999, changed=False)) == 0.0
    assert stale_in(after(0, changed=True)) == 0.0
    assert control.shown_stale(5, 1e-5, 0.0) == control.shown_stale(5, 1e-5, -1.0) == 0


def test_open_copies_count_as_their_predictions_came_true_so_far() -> None:
    ended = after(99, changed=True, times=20)
    before, for_each = stale_in(ended), 1.5
    stale = control.predicted_stale(1e-5, 1e5)
    assert stale == pytest.approx((1 - math.exp(-1.0)) * MILLION)
    ended.add(ended.latest, control.of_hits(CopyControl(1e-5, 0), 1, stale))
    assert control.estimated_stale(ended.rows, for_each)[1] == pytest.approx(before + for_each * stale / MILLION)


def test_the_price_stays_within_its_bounds() -> None:
    dear = after(999, changed=True, log_price=30.0, times=50)
    cheap = after(999, changed=False, log_price=-30.0, times=50)
    assert price(dear) == pytest.approx(control.HIGHEST * FIRST)
    assert price(cheap) == pytest.approx(control.LOWEST * FIRST)


def test_the_state_of_a_group_tells_what_its_price_follows_from() -> None:
    sums = after(99, changed=True, times=3)
    state = control.state_of(sums.rows, TARGET)
    assert (state.target, state.requests) == (TARGET, 300)
    assert state.price == pytest.approx(price(sums))
    assert state.stale == pytest.approx(state.shown) == pytest.approx(stale_in(sums))
    assert 0.0 < state.predicted < state.shown


def test_sums_count_less_with_time_so_that_a_group_adapts() -> None:
    sums = after(999, changed=True, times=4, log_price=math.log(3 * FIRST))
    then = price(sums)
    assert sums.latest == 1
    sums.begin(9)
    assert FIRST < price(sums) < then
    sums.begin(PERIODS + 2)
    assert price(sums) == pytest.approx(FIRST)
    assert len(sums.rows) == PERIODS


def test_sums_do_not_depend_on_the_order_in_which_they_are_added() -> None:
    amounts = [(3, [1, 2, 3, 4, 5]), (7, [5, 4, 3, 2, 1]), (5, [1, 1, 1, 1, 1]), (3, [1, 0, 0, 0, 0])]
    one, other = GroupSums(), GroupSums()
    for period, some in amounts:
        one.add(period, some)
    for period, some in reversed(amounts):
        other.add(period, some)
    assert one.rows == other.rows == [[5, 4, 3, 2, 1], NOTHING, [1, 1, 1, 1, 1], NOTHING, [2, 2, 3, 4, 5]]
    one.add(7 - PERIODS, [9] * 5)
    one.begin(2)  # a clock that is set back
    assert (one.latest, one.rows) == (7, other.rows)


def test_the_mean_rate_of_a_new_object_is_one_update_a_day() -> None:
    assert control.mean_rate_per_s(0, 0.0) == pytest.approx(1 / DAY)
    assert control.mean_rate_per_s(9, 9.5 * DAY - control.PRIOR_S) == pytest.approx(1 / DAY)


def test_periods_begin_with_the_epoch() -> None:
    assert [control.period_of(t) for t in (0.0, PERIOD_S - 1.0, PERIOD_S)] == [0, 0, 1]
