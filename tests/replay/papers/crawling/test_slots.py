import numpy as np
import pytest

from bestbefore.replay.papers.crawling.slots import CRAWLERS, carried_on, deviations, even, independent

SLOTS = 5000


def test_even_crawls_have_slots_within_20_of_their_ideal_times() -> None:
    found = deviations(*even(CRAWLERS * SLOTS, SLOTS, np.random.default_rng(1)), SLOTS)
    assert found.within(20) == 1.0
    assert found.within(1) > 0.7


def test_nothing_released_is_early() -> None:
    for draw in (even, independent):
        found = deviations(*draw(CRAWLERS * SLOTS, SLOTS, np.random.default_rng(2)), SLOTS)
        assert found.slots[found.released].min() >= 0.0
        assert found.row("name")[-2] == "0"


def test_free_slots_bring_crawls_nearer() -> None:
    rng = np.random.default_rng(3)
    full, free = (
        deviations(*independent(int(share * CRAWLERS * SLOTS), SLOTS, rng), SLOTS).within(2) for share in (1.0, 0.95)
    )
    assert full < 0.6 < 0.9 < free


def test_a_plan_that_is_carried_on_spreads_its_crawls() -> None:
    found = list(carried_on(SLOTS, 12, np.random.default_rng(4)))
    assert len(found[0].slots) == CRAWLERS * SLOTS
    assert found[0].within(5) < 0.7 < 0.9 < found[-1].within(5)


def test_the_distance_is_counted_in_slots() -> None:
    ideal_s = np.array([0.0, 0.0]) + 86400.0 / SLOTS
    found = deviations(ideal_s, np.array([True, False]), SLOTS)
    assert found.slots == pytest.approx([0.0, 0.0])
