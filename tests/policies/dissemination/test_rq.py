from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.rq import RequestsByQueue


@given(EVENTS, st.booleans())
def test_chooses_what_the_plain_definition_chooses(events, per_page):
    same_choices("rq", RequestsByQueue(Audience(PAGES, per_page=per_page)), Plain(PAGES, per_page), events)


@given(EVENTS)
def test_the_queue_in_pages(events):
    scheduler = RequestsByQueue(Audience(PAGES), queue_in_pages=True)
    same_choices("rq", scheduler, Plain(PAGES, queue_in_pages=True), events)


def test_a_client_that_needs_one_item_comes_before_one_that_needs_many():
    scheduler = RequestsByQueue(Audience([1] * 5))
    scheduler.download(0, [0, 1, 2, 3], 0.0)
    scheduler.download(1, [0, 1, 2], 0.0)
    scheduler.download(2, [4], 1.0)
    assert scheduler.choose(1.0) == 4
    assert scheduler.sent(4, 2.0) == [2]
    assert scheduler.choose(2.0) == 0
