import pytest

from bestbefore.replay.papers.refresh.orders import furthest, ratio_for, simulations, write
from bestbefore.replay.papers.refresh.synchronisation import Order, age, freshness
from bestbefore.replay.report.page import Page


def test_the_simulation_agrees_with_each_formula() -> None:
    found = simulations()
    assert len(found) == 18
    assert furthest(found) < 4.0


def test_freshness_of_80_per_cent_needs_a_ratio_of_46() -> None:
    assert ratio_for(0.8) == pytest.approx(0.4642, abs=1e-4)
    assert freshness(Order.FIXED, ratio_for(0.3)) == pytest.approx(0.3)


def test_the_fourth_of_section_4_4_is_one_of_the_purely_random_order() -> None:
    assert age(Order.FIXED, 1.0) / age(Order.PURELY_RANDOM, 1.0) == pytest.approx(0.264, abs=1e-3)
    assert age(Order.FIXED, 1.0) / age(Order.RANDOM, 1.0) == pytest.approx(0.718, abs=1e-3)


def test_printed_and_found_stand_beside_each_other() -> None:
    page = Page("refresh", "made")
    agreements = write(page)
    assert "| fixed order, r = 1: freshness (e-1)/e | 0.63 | 0.632 | +0.002 |" in page.markdown
    assert "| fixed order: freshness 0.8 needs r below | 0.46 | 0.464 | +0.004 |" in page.markdown
    assert [one.verdict for one in agreements] == ["yes", "yes", "no", "no", "yes"]
