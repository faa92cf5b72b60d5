import math

import pytest

from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import CopyControl, GroupControl

DAY = 86400.0
TARGET = 0.05
FIRST = control.FIRST_PRICE / TARGET


def after(
    hits: int, *, changed: bool, rate_per_s: float = 1e-5, log_price: float = math.log(FIRST), every_s: float = 10.0,
    times: int = 1,
) -> GroupControl:
    """The control of a group with copies that are hit so often, and then validated."""
    group, t = GroupControl(), 0.0
    for _ in range(times):
        copy = CopyControl(t, rate_per_s, log_price)
        for _ in range(hits):
            t += every_s
            group, copy = control.hit(control.requested(group, copy, t), copy, t)
        t += every_s
        stale = control.stale_hits(copy, t, (), math.nan) if changed else 0.0
        group = control.validated(control.requested(group, copy, t), copy, stale)
    return group


def test_a_group_begins_with_the_first_price() -> None:
    assert math.exp(control.log_price(GroupControl(), TARGET)) == pytest.approx(FIRST)


def test_stale_hits_beyond_the_target_raise_the_price_and_fewer_lower_it() -> None:
    many, none = after(99, changed=True, times=30), after(99, changed=False, times=30)
    assert control.estimated_stale(many) > TARGET * many.all_requests
    assert control.log_price(many, TARGET) > math.log(FIRST) > control.log_price(none, TARGET)


def test_the_stale_hits_of_a_copy_whose_object_has_changed_are_those_expected_then() -> None:
    """At a low rate the object changed at any time alike, so that about half of the hits were stale."""
    group = after(999, changed=True, rate_per_s=1e-9)
    assert group.all_stale == pytest.approx(499.5, rel=0.01)
    assert after(999, changed=False).all_stale == 0.0
    assert after(0, changed=True).all_stale == 0.0


def test_hits_after_a_known_update_were_stale_and_those_before_it_perhaps() -> None:
    copy = CopyControl(0.0, 1e-3, 0.0)
    before = 1 - math.exp(-0.1)
    assert control.stale_hits(copy, 900.0, [100.0, 500.0, 600.0], 500.0) == pytest.approx(2 + before)


def test_open_copies_count_as_their_predictions_came_true_so_far() -> None:
    ended = after(99, changed=True, times=20)
    copy = CopyControl(1e6, 1e-5, 0.0)
    group, copy = control.hit(control.requested(ended, copy, 1.1e6), copy, 1.1e6)
    chance = 1 - math.exp(-1.0)
    assert copy.predicted == pytest.approx(chance)
    assert control.estimated_stale(group) > control.estimated_stale(ended) + chance  # there were more than predicted


def test_the_price_stays_within_its_bounds() -> None:
    dear = after(999, changed=True, log_price=30.0, times=50)
    cheap = after(999, changed=False, log_price=-30.0, times=50)
    assert math.exp(control.log_price(dear, TARGET)) == pytest.approx(control.HIGHEST * FIRST)
    assert math.exp(control.log_price(cheap, TARGET)) == pytest.approx(control.LOWEST * FIRST)


def test_sums_decay_so_that_a_group_adapts() -> None:
    group = after(99, changed=True)
    copy = CopyControl(0.0, 1e-5, 0.0)
    later = control.requested(group, copy, group.at_s + control.MEMORY_S)
    assert later.requests == pytest.approx(group.requests / math.e + 1)
    assert later.stale == pytest.approx(group.stale * math.exp(-0.5))
    assert later.all_stale == group.all_stale
    assert control.requested(later, copy, 0.0).at_s == later.at_s  # a clock that is set back


def test_the_mean_rate_of_a_new_object_is_one_update_a_day() -> None:
    assert control.mean_rate_per_s(0, 0.0) == pytest.approx(1 / DAY)
    assert control.mean_rate_per_s(9, 9.5 * DAY - control.PRIOR_S) == pytest.approx(1 / DAY)
