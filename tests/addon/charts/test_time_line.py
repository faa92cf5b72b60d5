"""The time line shows what lies within it, in order."""

import doctest
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.charts import time_line as time_line_module
from bestbefore.addon.charts.time_line import LEFT, RIGHT, ticks, time_line

TIMES = st.floats(1e9, 1.01e9)


def test_an_update_spans_from_the_contact_before_it_to_the_one_that_found_it() -> None:
    updates = [(1e9 + 25, 1e9 + 50), (0.0, 5.0)]
    made = ET.fromstring(time_line(1e9, 1e9 + 100, updates, 1e9 + 50, 1e9 + 75, 1e9 + 100, "x"))
    drawn = [one for one in made.iter("rect") if one.attrib["class"] == "span"]
    spans = [(float(one.attrib["x"]), float(one.attrib["width"])) for one in drawn]
    quarter = (RIGHT - LEFT) / 4
    assert spans == [(LEFT + quarter, quarter)]
    assert [one.attrib["class"] for one in made.iter("path")].count("due") == 1
    assert [text.text for text in made.iter("text")] == ["01:47", "01:48", "now"]


def test_the_examples_hold() -> None:
    assert doctest.testmod(time_line_module).failed == 0


@given(TIMES, st.floats(1.0, 1e10))
def test_ticks_are_few_round_times_within_the_line(since_s: float, length_s: float) -> None:
    found = ticks(since_s, since_s + length_s)
    assert 1 <= len(found) <= 6 or length_s < 5.0
    assert all(since_s <= time_s <= since_s + length_s for time_s, _ in found)
    assert len({label for _, label in found}) == len(found)


@given(TIMES, st.floats(1.0, 1e8), st.lists(st.tuples(TIMES, TIMES)), TIMES, TIMES, st.none() | TIMES)
def test_nothing_is_drawn_beside_it(
    since_s: float, length_s: float, updates: list[tuple[float, float]], last_s: float, now_s: float,
    due_s: float | None,
) -> None:
    ordered = [(min(one), max(one)) for one in updates]
    made = ET.fromstring(time_line(since_s, since_s + length_s, ordered, last_s, now_s, due_s, "x"))
    for one in made.iter("rect"):
        assert float(one.attrib["width"]) >= 0.0
        assert LEFT - 2 <= float(one.attrib["x"]) <= RIGHT + 1
