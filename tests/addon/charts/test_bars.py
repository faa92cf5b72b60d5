"""Bars have the heights of their values."""

import xml.etree.ElementTree as ET

from bestbefore.addon.charts.bars import BOTTOM, TOP, bars


def test_heights_are_in_proportion_and_nothing_has_no_bar() -> None:
    made = ET.fromstring(bars([0.0, 1.0, 4.0], ["a", "", "<c>"], 'of "three"'))
    heights = [float(bar.attrib["height"]) for bar in made.iter("rect")]
    assert heights == [(BOTTOM - TOP) / 4, BOTTOM - TOP]
    assert [text.text for text in made.iter("text")] == ["4", "0", "a", "<c>"]
    assert made.attrib["aria-label"] == 'of "three"'
    assert not list(ET.fromstring(bars([0.0], [""], "none")).iter("rect"))
