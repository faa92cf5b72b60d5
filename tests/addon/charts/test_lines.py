from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bestbefore.addon.charts.lines import Line, Scale, drawn

GOLDEN = Path(__file__).parents[2] / "golden"
SVG = "{http://www.w3.org/2000/svg}"


def test_a_line_is_joined_and_points_are_marked() -> None:
    root = ET.fromstring(drawn(
        [
            Line("theory & co", [(0.0, 1.0), (1.0, 0.5), (2.0, 0.0)]),
            Line("seen", [(1.0, 0.6)], joined=False, marked=True, of=0),
        ],
        Scale("ratio"), Scale("freshness"),
    ))
    theory, seen = root.findall(f"{SVG}svg/{SVG}g[@class='series c0']")
    assert [path.get("class") for path in theory] == ["line"]
    assert [path.get("class") for path in seen] == [None]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"theory & co", "seen", "freshness ↑", "ratio →"} <= set(texts)


def test_a_linear_axis_begins_at_0_or_below() -> None:
    positive = Scale("x").axis([3.0, 50.0], 0.0, 106.0)
    assert [positive.at(0.0), positive.at(50.0)] == pytest.approx([0.0, 100.0])
    both = Scale("x").axis([-50.0, 50.0], 0.0, 106.0)
    assert [both.at(-50.0), both.at(0.0), both.at(50.0)] == pytest.approx([3.0, 53.0, 103.0])
    assert both.ticks(5) == [-40.0, -20.0, 0.0, 20.0, 40.0]


def test_a_linear_axis_may_begin_where_the_values_do() -> None:
    axis = Scale("x", with_zero=False).axis([1.5, 5.0], 0.0, 106.0)
    assert [axis.at(1.5), axis.at(5.0)] == pytest.approx([3.0, 103.0])
    assert axis.ticks(8) == [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]


def test_a_logarithmic_axis_is_asked_for_and_not_chosen() -> None:
    axis = Scale("x", logarithmic=True).axis([1.0, 4.0], 0.0, 100.0)
    assert axis.logarithmic
    assert axis.at(2.0) == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("linear", Scale("days"), Scale("stale <hits>")),
        ("log", Scale("bytes", logarithmic=True), Scale("age", with_zero=False)),
    ],
)
def test_a_chart_is_drawn_as_it_was_looked_at(name: str, x: Scale, y: Scale) -> None:
    """Who changes the drawing on purpose looks at the new one, and keeps it."""
    lines = [
        Line("one", [(1.0, 2.0), (3.0, 5.5), (40.0, 7.0)], marked=True),
        Line("two & more", [(2.0, 3.0), (20.0, 1.5)], joined=False, marked=True),
        Line("three", [(1.5, 6.0), (30.0, 2.5)], of=0),
    ]
    assert drawn(lines, x, y) == (GOLDEN / f"chart_{name}.svg").read_text()
