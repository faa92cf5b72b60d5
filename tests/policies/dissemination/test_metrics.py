"""Against the definitions of section 2, by hand and by brute force."""

import numpy as np
import pytest

from bestbefore.policies.dissemination.metrics import SubscriberCopies, condition_at


def test_the_example_of_a_client_with_four_items_one_of_which_falls_out_of_date() -> None:
    copies = SubscriberCopies([1] * 4, [range(4)])
    copies.page_became_stale(2, 5.0)
    found = copies.span_ended(10.0)
    assert found.freshness_over_clients == found.freshness_over_data == pytest.approx(7 / 8)
    # the paper counts the age at the end of each unit, 0.375; its integral is 25/2 units of one item of four in ten
    assert found.age_over_clients_s == pytest.approx(25 / 2 / 4 / 10)
    at_end = condition_at(10.0, [(4, [5.0])])
    assert (at_end.freshness_over_clients, at_end.age_over_clients_s) == (0.75, 5 / 4)


def test_small_requests_weigh_more_over_clients() -> None:
    copies = SubscriberCopies([1, 1], [[0], [0, 1]])
    for item in (0, 1):
        copies.page_became_stale(item, 0.0)
    copies.sent(0, 0.0)
    found = copies.span_ended(1.0)
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx((3 / 4, 2 / 3))
    found = condition_at(1.0, [(1, []), (2, [0.0])])
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx((3 / 4, 2 / 3))


def test_more_popular_data_weigh_more_over_data() -> None:
    common, own = list(range(10)), [10]
    gains = []
    for sent in (0, 10):
        copies = SubscriberCopies([1] * 11, [common, common, own])
        for item in range(11):
            copies.page_became_stale(item, 0.0)
        copies.sent(sent, 0.0)
        gains.append(copies.span_ended(1.0).freshness_over_data)
    assert gains == pytest.approx([2 / 21, 1 / 21])


def test_what_is_sent_is_current_and_has_no_age() -> None:
    copies = SubscriberCopies([15] * 4, [[3]])
    copies.page_became_stale(3, 1.0)
    copies.sent(3, 4.0)
    assert copies.span_ended(5.0).age_over_data_s == pytest.approx(9 / 2 / 15 / 5)
    after = copies.span_ended(9.0)
    assert (after.freshness_over_clients, after.age_over_clients_s) == pytest.approx((1.0, 0.0))


def test_a_client_without_items_has_freshness_0() -> None:
    found = SubscriberCopies([1, 1], [[1], []]).span_ended(1.0)
    assert (found.freshness_over_clients, found.freshness_over_data) == pytest.approx((0.5, 1.0))


def test_without_clients_everything_is_fresh() -> None:
    found = condition_at(1.0, [])
    assert (found.freshness_over_clients, found.freshness_over_data, found.age_over_data_s) == (1.0, 1.0, 0.0)


def test_any_events_give_what_a_sum_over_all_pages_of_all_clients_gives() -> None:
    rng = np.random.default_rng(4)
    pages = [15, 1, 4, 4, 15, 2]
    clients = [[0, 3, 4], [3], [5, 1]]
    copies = SubscriberCopies(pages, clients)
    since: dict[tuple[int, int], float] = {}
    total = np.zeros(4)
    now = 0.0
    for _ in range(400):
        then = now + rng.exponential()
        # Freshness and age are linear between events, so that their integral is the value at the middle.
        middle = condition_at(
            (now + then) / 2,
            [
                (sum(pages[item] for item in own), [since[key] for key in since if key[0] in own])
                for own in clients
            ],
        )
        total += (then - now) * np.array([
            middle.freshness_over_clients, middle.freshness_over_data, middle.age_over_clients_s, middle.age_over_data_s
        ])
        now = then
        item = int(rng.integers(len(pages)))
        page = int(rng.integers(pages[item]))
        if rng.random() < 0.2:
            copies.sent(item, now)
            since = {key: time for key, time in since.items() if key[0] != item}
        elif (item, page) not in since:
            copies.page_became_stale(item, now)
            since[item, page] = now
    found = copies.span_ended(now)
    assert (
        found.freshness_over_clients, found.freshness_over_data, found.age_over_clients_s, found.age_over_data_s
    ) == pytest.approx(tuple(total / now))
