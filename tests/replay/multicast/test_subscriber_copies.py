"""Against the definitions of section 2, by hand and by brute force."""

import numpy as np
import pytest

from bestbefore.replay.multicast.repository import Repository
from bestbefore.replay.multicast.subscriber_copies import SubscriberCopies

PAGES = 15


@pytest.fixture
def four_sites() -> Repository:
    return Repository.of(np.random.default_rng(1), (4, 1))


def test_the_example_of_a_client_with_four_items_one_of_which_falls_out_of_date(four_sites: Repository) -> None:
    copies = SubscriberCopies(four_sites, [np.arange(4)])
    for _ in range(PAGES):
        copies.page_became_stale(2, 5.0)
    found = copies.span_ended(10.0)
    assert found.freshness_over_clients == found.freshness_over_data == pytest.approx(7 / 8)
    # the paper counts the age at the end of each unit, 0.375; its integral is 25/2 units of one item of four in ten
    assert found.age_over_clients_s == pytest.approx(25 / 2 / 4 / 10)


def test_small_requests_weigh_more_over_clients(four_sites: Repository) -> None:
    copies = SubscriberCopies(four_sites, [np.array([0]), np.array([0, 1])])
    for _ in range(PAGES):
        copies.page_became_stale(0, 0.0)
        copies.page_became_stale(1, 0.0)
    copies.sent(0, 0.0)
    found = copies.span_ended(1.0)
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx((3 / 4, 2 / 3))


def test_what_is_sent_is_current_and_has_no_age(four_sites: Repository) -> None:
    copies = SubscriberCopies(four_sites, [np.array([3])])
    copies.page_became_stale(3, 1.0)
    copies.sent(3, 4.0)
    assert copies.span_ended(5.0).age_over_data_s == pytest.approx(9 / 2 / PAGES / 5)
    after = copies.span_ended(9.0)
    assert (after.freshness_over_clients, after.age_over_clients_s) == pytest.approx((1.0, 0.0))


def test_a_client_without_sites_has_freshness_0(four_sites: Repository) -> None:
    copies = SubscriberCopies(four_sites, [np.array([1]), np.array([], np.intp)])
    found = copies.span_ended(1.0)
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx((0.5, 1.0))


def test_any_events_give_what_a_sum_over_all_pages_of_all_clients_gives(small_repository: Repository) -> None:
    rng = np.random.default_rng(4)
    clients = [np.array([0, 3, 4]), np.array([3]), np.array([8, 1])]
    chunks = [small_repository.chunks_of(sites) for sites in clients]
    copies = SubscriberCopies(small_repository, clients)
    since: dict[tuple[int, int], float] = {}
    freshness, age = np.zeros(2), np.zeros(2)
    now = 0.0
    for _ in range(400):
        then = now + rng.exponential()
        stale = [[since[key] for key in since if key[0] in own] for own in chunks]
        sizes = np.array([PAGES * len(own) for own in chunks])
        counts = np.array([len(times) for times in stale])
        ages = np.array([sum((now + then) / 2 - time for time in times) for times in stale])
        freshness += (then - now) * np.array([np.mean(1 - counts / sizes), 1 - counts.sum() / sizes.sum()])
        age += (then - now) * np.array([np.mean(ages / sizes), ages.sum() / sizes.sum()])
        now = then
        chunk, page = int(rng.integers(17)), int(rng.integers(PAGES))
        if rng.random() < 0.2:
            copies.sent(chunk, now)
            since = {key: time for key, time in since.items() if key[0] != chunk}
        elif (chunk, page) not in since:
            copies.page_became_stale(chunk, now)
            since[chunk, page] = now
    found = copies.span_ended(now)
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx(tuple(freshness / now))
    assert (found.age_over_clients_s, found.age_over_data_s) == pytest.approx(tuple(age / now))
