import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.replay.papers.crawling.embarrassment_weights import click_probabilities, embarrassment_weights


def test_a_weight_is_the_chance_of_return_and_click_and_a_wrong_answer() -> None:
    # two positions on one page, clicked .5 and .2; the first object stands first or second, the second always second
    clicked = [[0.5], [0.2]]
    returned = [[[0.4], [0.6]], [[0.0], [1.0]], [[0.0], [0.0]]]
    assert_allclose(embarrassment_weights([0.5, 1.0, 1.0], clicked, returned), [0.5 * (0.2 + 0.12), 0.2, 0.0])


def test_clicks_fall_with_the_rank_and_with_each_page() -> None:
    clicks = click_probabilities(2, 2, 0.8)
    # 1, 1/2, 1/3, 1/4 over 25/12; those on the second page times .8
    assert_allclose(clicks, np.array([[1.0, 0.8 / 3], [0.5, 0.2]]) * 12 / 25)


def test_without_skew_only_the_page_counts() -> None:
    assert_allclose(click_probabilities(5, 2, 0.5, zipf=1.0), [[0.1, 0.05]] * 5)


@pytest.mark.parametrize(
    ("incorrect", "returned", "row"),
    [
        ([0.5, 1.5], [[[0.1]], [[0.1]]], 1),
        ([np.nan, 0.5], [[[0.1]], [[0.1]]], 0),
        ([0.5, 0.5], [[[0.1]], [[-0.1]]], 1),
    ],
)
def test_what_is_no_probability_is_refused_by_its_row(incorrect: list[float], returned: object, row: int) -> None:
    with pytest.raises(RowError) as refused:
        embarrassment_weights(incorrect, [[0.5]], returned)  # type: ignore[arg-type]
    assert refused.value.row == row


def test_an_object_is_returned_in_one_place_at_most() -> None:
    with pytest.raises(RowError, match="row 0: the probability of being returned"):
        embarrassment_weights([0.5], [[0.5], [0.5]], [[[0.7], [0.7]]])


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match=re.escape("(1,), (1, 1) and (1, 2, 1)")):
        embarrassment_weights([0.5], [[0.5]], [[[0.1], [0.2]]])
    with pytest.raises(ValueError, match="a click has a probability outside"):
        embarrassment_weights([0.5], [[1.5]], [[[0.1]]])


@pytest.mark.parametrize("bad", [(0, 1, 0.5, 0.0), (1, 0, 0.5, 0.0), (1, 1, 1.5, 0.0), (1, 1, 0.5, -0.1)])
def test_clicks_need_places_and_probabilities(bad: tuple[int, int, float, float]) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        click_probabilities(*bad)
