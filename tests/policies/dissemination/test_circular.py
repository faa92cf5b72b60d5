from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.circular import Circular


@given(EVENTS, st.booleans())
def test_chooses_what_the_plain_definition_chooses(events, per_page):
    same_choices("circ", Circular(Audience(PAGES, per_page=per_page)), Plain(PAGES, per_page), events)


def test_items_take_turns_by_their_numbers():
    scheduler = Circular(Audience([1] * 4))
    scheduler.subscribe(0, [0, 1, 2, 3], 0.0, held=[0, 1, 2, 3])
    for item in (3, 1, 0):
        scheduler.changed(item, 1.0)
    chosen = []
    for time_s in range(2, 6):
        chosen.append(scheduler.choose(time_s))
        scheduler.sent(chosen[-1], time_s)
        scheduler.changed(1, time_s)
    assert chosen == [0, 1, 3, 1]
