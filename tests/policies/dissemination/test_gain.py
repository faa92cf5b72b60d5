import numpy as np
import pytest
from events import EVENTS, PAGES, same_choices
from hypothesis import given
from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.gain import ExpectedGain, ExpectedGainOverData, worth
from bestbefore.policies.dissemination.metrics import SubscriberCopies
from bestbefore.policies.dissemination.scheduler import Scheduler
from bestbefore.policies.dissemination.table import SCHEDULERS


class PlainGain(Plain):
    """Chooses by the plain scores; one that is equal but for rounding is as good."""

    def __init__(self, over_data, scheduler):
        super().__init__(PAGES)
        self.over_data, self.scheduler = over_data, scheduler

    def choose(self, name, now):
        gains = {item: self.gain(item, self.over_data) for item in range(len(PAGES)) if self.requests(item)}
        for item, gain in gains.items():
            assert self.scheduler.score(item) == pytest.approx(gain)
        chosen = self.scheduler.choose(now)
        return chosen if gains and gains[chosen] == pytest.approx(max(gains.values())) else None


@given(EVENTS, st.sampled_from([ExpectedGain, ExpectedGainOverData]))
def test_chooses_what_the_plain_definition_chooses(events, kind):
    scheduler = kind(Audience(PAGES))
    same_choices(kind.name, scheduler, PlainGain(kind.over_data, scheduler), events)


@given(st.integers(1, 12), st.floats(0.01, 0.99))
def test_sending_is_best_from_the_number_of_stale_pages_whose_worth_is_the_price(pages, share):
    price = share * pages
    rounds = [sum(1 / (pages - stale) for stale in range(k)) for k in range(pages + 1)]
    earned = [(k - price) / rounds[k] for k in range(1, pages + 1)]
    best = 1 + max(range(pages), key=earned.__getitem__)
    assert worth(pages, best - 1) <= price + 1e-9
    assert worth(pages, best) >= price - 1e-9


def test_worth_of_some_states():
    assert worth(1, 1) == 1.0
    assert worth(15, 0) == 0.0
    assert worth(15, 15) == 15.0
    assert worth(15, 1) == pytest.approx(1 / 15)
    assert worth(2, 1) == pytest.approx(0.5)


def test_a_client_of_few_pages_comes_first():
    scheduler = ExpectedGain(Audience([1] * 3))
    scheduler.subscribe(0, [0], 0.0, held=[0])
    scheduler.subscribe(1, [1, 2], 0.0, held=[1, 2])
    for item in (2, 1, 0):
        scheduler.changed(item, 1.0)
    assert scheduler.choose(1.0) == 0
    over_data = ExpectedGainOverData(Audience([1] * 3))
    over_data.subscribe(0, [0], 0.0, held=[0])
    over_data.subscribe(1, [1, 2], 0.0, held=[1, 2])
    over_data.changed(2, 1.0)
    over_data.changed(0, 2.0)
    assert over_data.choose(2.0) == 2


def test_an_item_that_changes_often_or_is_large_comes_last():
    often = ExpectedGain(Audience([1, 1]))
    often.subscribe(0, [0, 1], 0.0, held=[0, 1])
    for time_s in range(5):
        often.changed(0, float(time_s))
    often.changed(1, 5.0)
    assert often.choose(5.0) == 1
    large = ExpectedGain(Audience([1, 1], [5000, 1000]))
    large.subscribe(0, [0, 1], 0.0, held=[0, 1])
    large.changed(0, 1.0)
    large.changed(1, 2.0)
    assert large.choose(2.0) == 1


def test_intervals_that_are_known_take_the_place_of_the_changes_seen():
    scheduler = ExpectedGain(Audience([1, 1]), intervals_s=[60.0, 3600.0])
    scheduler.subscribe(0, [0, 1], 0.0, held=[0, 1])
    scheduler.changed(0, 1.0)
    for time_s in (2.0, 3.0):
        scheduler.changed(1, time_s)
    assert scheduler.choose(3.0) == 1


def test_what_clients_that_left_were_worth_is_gone():
    scheduler = ExpectedGain(Audience([1, 1]), downloader=1.0)
    scheduler.subscribe(0, [0], 0.0, held=[0])
    scheduler.subscribe(1, [0, 1], 0.0)
    scheduler.download(2, [1], 0.0)
    scheduler.changed(0, 1.0)
    assert scheduler.score(0) == pytest.approx(1.5 / 2)
    assert scheduler.score(1) == pytest.approx(1.5)
    scheduler.leave(0)
    scheduler.leave(2)
    assert scheduler.score(0) == pytest.approx(0.5 / 2)
    assert scheduler.score(1) == pytest.approx(0.5)


def simulated(scheduler: Scheduler, subscriptions: list[list[int]], changes: list[tuple[float, int]]) -> float:
    """Freshness over clients of the later half of 20 days, in which 60 items are sent each day."""
    audience = scheduler.audience
    copies = SubscriberCopies(audience.pages, subscriptions)
    for client, items in enumerate(subscriptions):
        scheduler.subscribe(client, items, 0.0, held=items)
    sendings = 1
    for day, item in changes:
        while (now := sendings / 60.0) < day:
            chosen = scheduler.choose(now)
            if chosen is not None:
                copies.sent(chosen, now)
                scheduler.sent(chosen, now)
            sendings += 1
            if sendings == 10 * 60:
                copies.span_ended(now)
        if not audience.stale[item]:
            copies.page_became_stale(item, day)
        scheduler.changed(item, day)
    return copies.span_ended(20.0).freshness_over_clients


def test_rates_of_items_of_one_page_are_learnt_as_well_as_known() -> None:
    rng = np.random.default_rng(3)
    rates = np.exp(rng.normal(0.0, 1.5, 200))
    sizes = 1 + rng.exponential(20.0, 20).astype(int)
    subscriptions = [rng.choice(200, size, replace=False).tolist() for size in sizes]
    days = np.sort(rng.uniform(0.0, 20.0, rng.poisson(20.0 * rates.sum())))
    changes = list(zip(days.tolist(), rng.choice(200, len(days), p=rates / rates.sum()).tolist(), strict=True))
    pop, rxc, gain = (
        simulated(SCHEDULERS[name](Audience([1] * 200)), subscriptions, changes) for name in ("pop", "rxc", "gain")
    )
    known = simulated(ExpectedGain(Audience([1] * 200), intervals_s=(1.0 / rates).tolist()), subscriptions, changes)
    assert pop + 0.1 < rxc
    assert rxc + 0.02 < gain
    assert gain == pytest.approx(known, abs=0.01)
