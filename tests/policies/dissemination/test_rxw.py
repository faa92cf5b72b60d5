from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.rxw import RequestsByWait


@given(EVENTS, st.booleans())
def test_chooses_what_the_plain_definition_chooses(events, per_page):
    same_choices("rxw", RequestsByWait(Audience(PAGES, per_page=per_page)), Plain(PAGES, per_page), events)


def test_a_long_wait_makes_up_for_few_requests():
    scheduler = RequestsByWait(Audience([1, 1]))
    scheduler.download(0, [0], 0.0)
    for client in (1, 2):
        scheduler.download(client, [1], 6.0)
    assert scheduler.choose(11.0) == 0
    assert scheduler.choose(13.0) == 1
