import math

import pytest
from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.rxc import RequestsByChange


@given(EVENTS, st.booleans())
def test_chooses_what_the_plain_definition_chooses(events, per_page):
    same_choices("rxc", RequestsByChange(Audience(PAGES, per_page=per_page)), Plain(PAGES, per_page), events)


def test_the_floating_average():
    scheduler = RequestsByChange(Audience([1]), start_s=10.0)
    assert scheduler.interval_s(0) == math.inf
    for time_s in (40.0, 40.0, 52.0):
        scheduler.changed(0, time_s)
    assert scheduler.interval_s(0) == pytest.approx(30.0 * 2 / 3 + 12.0 / 3)


def test_what_never_changed_comes_first_by_its_requests():
    scheduler = RequestsByChange(Audience([1] * 3))
    scheduler.subscribe(0, [0], 0.0, held=[0])
    scheduler.changed(0, 1e9)
    scheduler.download(1, [1, 2], 1e9)
    scheduler.download(2, [2], 1e9)
    assert scheduler.choose(1e9) == 2


def test_true_intervals_take_the_place_of_the_average():
    scheduler = RequestsByChange(Audience([1, 1]), intervals_s=[100.0, 200.0])
    scheduler.subscribe(0, [0, 1], 0.0, held=[0, 1])
    scheduler.changed(0, 5000.0)
    scheduler.changed(1, 5001.0)
    assert scheduler.choose(5001.0) == 1
