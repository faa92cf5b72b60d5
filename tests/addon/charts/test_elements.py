import re
from itertools import pairwise

import pytest

from bestbefore.addon.charts.axes import Axis
from bestbefore.addon.charts.elements import COLOURS, MARKERS, colour, grid, legend_key, line_through, marker, text_at
from bestbefore.addon.charts.labels import WIDTH


def test_fifty_six_series_can_be_distinguished() -> None:
    many = COLOURS * len(MARKERS)
    assert len({(colour(place), marker(place)) for place in range(many)}) == many
    assert (colour(many), marker(many)) == (colour(0), marker(0))


def test_text_is_escaped_and_a_single_point_is_no_line() -> None:
    assert text_at(1.0, 2.25, "a < b & c", "end") == '<text x="1.0" y="2.2" text-anchor="end">a &lt; b &amp; c</text>'
    assert line_through([(1.0, 2.0)]) == ""
    assert 'd="M1.0,2.0 3.0,4.0"' in line_through([(1.0, 2.0), (3.0, 4.0)])


def test_a_legend_shows_the_line_only_of_joined_points() -> None:
    assert legend_key("M0,0z", joined=True).count("<path") == 2
    assert legend_key("M0,0z", joined=False) == '<path d="M0,0z"/>'
    assert legend_key("", joined=False) == ""


def test_values_beside_an_axis_do_not_overlap() -> None:
    narrow = Axis(0.0, 120.0, 1.0, 1e6, logarithmic=True, has_zero=False)
    high = Axis(100.0, 0.0, 0.0, 10.0, logarithmic=False, has_zero=True)
    font = 13.0
    drawn = "".join(grid(narrow, high, font, 12, 5))
    shown = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]*)', drawn)
    assert len(shown) > 1
    for (x, text), (next_x, next_text) in pairwise(shown):
        assert float(x) + WIDTH * font * len(text) / 2 < float(next_x) - WIDTH * font * len(next_text) / 2


@pytest.mark.parametrize("has_zero", [True, False])
def test_the_place_of_zero_on_a_logarithmic_axis_is_set_apart(has_zero: bool) -> None:
    axis = Axis(0.0, 500.0, 1.0, 1e3, logarithmic=True, has_zero=has_zero)
    drawn = "".join(grid(axis, axis, 13.0, 9, 9))
    assert drawn.count('class="break"') == (2 if has_zero else 0)
