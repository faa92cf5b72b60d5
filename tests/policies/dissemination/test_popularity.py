import numpy as np
from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.popularity import Popularity


@given(EVENTS, st.booleans())
def test_chooses_what_the_plain_definition_chooses(events, per_page):
    same_choices("pop", Popularity(Audience(PAGES, per_page=per_page)), Plain(PAGES, per_page), events)


def test_equal_requests_are_ranked_by_time_or_at_random():
    def chosen(ties):
        scheduler = Popularity(Audience([1] * 8, ties=ties))
        for item in range(8):
            scheduler.download(item, [7 - item], float(item))
        return scheduler.choose(8.0)

    assert chosen(None) == 7
    drawn = {chosen(np.random.default_rng(seed)) for seed in range(20)}
    assert len(drawn) > 3
