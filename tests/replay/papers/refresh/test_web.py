import pytest

from bestbefore.replay.papers.refresh.web import OVERALL, OVERALL_PRINTED, column, faster_freshness


def test_the_overall_values_are_those_printed_within_a_unit_of_the_last_digit() -> None:
    found = column(OVERALL)
    assert found == pytest.approx((0.1288, 400.97, 0.5747, 5.592, 0.6174, 4.284), rel=1e-3)
    for text, ours in zip(OVERALL_PRINTED, found, strict=True):
        assert abs(ours - float(text)) < 10.0 ** -len(text.partition(".")[2])


def test_what_section_7_5_says_of_pages_that_change_more_often() -> None:
    proportional, uniform, best = faster_freshness(4.0)
    assert proportional < 0.05
    assert 0.4 < uniform < best
    assert faster_freshness(1.0) == pytest.approx((column(OVERALL)[0], column(OVERALL)[2], column(OVERALL)[4]))
    _, uniform, best = faster_freshness(64.0)
    assert best / uniform == pytest.approx(2.15, abs=0.01)
