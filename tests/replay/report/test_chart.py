import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.report.chart import Chart, figure, frontier_chart, marker, svg
from bestbefore.replay.report.series import Series, series_of
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.sweeps.sweep import Result

SVG = "{http://www.w3.org/2000/svg}"


def results() -> list[Result]:
    points = [*points_of("ttl:alpha=0.1..0.4/3"), *points_of("oracle"), *points_of("always")]
    counts = [(30, 1), (20, 3), (10, 9), (5, 0), (100, 0)]
    return [
        Result(point, {"cached": 100.0, "stale_hits": float(stale), "validations": float(validations)})
        for point, (validations, stale) in zip(points, counts, strict=True)
    ]


def drawn(whole: str | None = "cached") -> ET.Element:
    chart = Chart(series_of(results(), "validations", "stale_hits"), "validations", "stale_hits", whole)
    text = svg(chart, 960.0, 560.0, 14.0, "wide").replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1)
    return ET.fromstring(text)


def places(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Where each point is, by the SPEC in its tooltip."""
    found = {}
    for path in root.iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None and title.text:
            x, y = re.findall(r"[\d.]+", path.attrib["transform"])
            found[title.text.split("\n")[0]] = (float(x), float(y))
    return found


def test_every_point_has_its_place_and_its_figures() -> None:
    root = drawn()
    at = places(root)
    assert list(at) == ["ttl:alpha=0.1", "ttl:alpha=0.2", "ttl:alpha=0.4", "oracle", "always"]
    assert at["oracle"][0] < at["ttl:alpha=0.4"][0] < at["ttl:alpha=0.2"][0] < at["ttl:alpha=0.1"][0] < at["always"][0]
    assert at["ttl:alpha=0.4"][1] < at["ttl:alpha=0.2"][1] < at["ttl:alpha=0.1"][1] < at["oracle"][1] == at["always"][1]
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert "ttl:alpha=0.2\ncached: 100 (100 %)\nstale hits: 3 (3 %)\nvalidations: 20 (20 %)" in titles


def test_the_points_of_a_curve_are_joined() -> None:
    root = drawn()
    (line,) = (path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == "line")
    at = places(root)
    assert line == "M" + " ".join(f"{x},{y}" for x, y in (at[f"ttl:alpha={alpha}"] for alpha in (0.1, 0.2, 0.4)))


@pytest.mark.parametrize(("whole", "has_shares"), [("cached", True), (None, False)])
def test_the_axes_are_named_and_may_have_shares(whole: str | None, has_shares: bool) -> None:
    texts = [text.text for text in drawn(whole).iter(f"{SVG}text")]
    assert {"stale hits ↑", "validations →", "ttl 0.1", "oracle"} <= set(texts)
    assert ("100 %" in texts) == has_shares


def test_all_text_lies_on_the_canvas() -> None:
    for text in drawn().iter(f"{SVG}text"):
        assert 0.0 <= float(text.attrib["x"]) <= 960.0
        assert 0.0 <= float(text.attrib["y"]) <= 560.0


def test_no_value_below_the_axis_lies_over_the_one_before() -> None:
    """Round numbers lie close together at the end of each power of ten: here 50,000, 70,000 and 100,000."""
    points = points_of("ttl:alpha=0.1..0.9/3")
    numbers = [{"stale_hits": y, "validations": x} for y, x in ((9.0, 600.0), (3.0, 20_000.0), (1.0, 150_000.0))]
    drawing = Chart(series_of(list(map(Result, points, numbers)), "validations", "stale_hits"),
                    "validations", "stale_hits", None)
    text = svg(drawing, 420.0, 460.0, 13.0, "narrow").replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1)
    below = [one for one in ET.fromstring(text).iter(f"{SVG}text") if one.get("text-anchor") == "middle"]
    ends = [(float(one.attrib["x"]), 0.3 * 13.0 * len(one.text or "")) for one in below]
    assert len(ends) >= 3
    assert all(x + half < next_x - next_half for (x, half), (next_x, next_half) in pairwise(ends))


def test_the_oracle_has_a_marker_of_its_own() -> None:
    assert marker(0, "oracle") not in {marker(n, "ttl") for n in range(100)}


def series(name: str, *points: tuple[str, float, float]) -> Series:
    results = [
        Result(Point(spec, parse_spec(spec), spec), {"cached": 100.0, "validations": x, "stale_hits": y})
        for spec, x, y in points
    ]
    return Series(name, results, key="alpha")


def test_the_drawing_stands_alone_and_names_its_series() -> None:
    drawn = figure([
        series("TTL & co", ("ttl:alpha=0.1", 40.0, 5.0), ("ttl:alpha=0.2", 20.0, 9.0)),
        series("other", ("ttl:alpha=0.4", 10.0, 20.0)),
        series("third", ("ttl:alpha=0.5", 8.0, 30.0)),
    ])
    root = ET.fromstring(drawn)  # it is well-formed, and an image viewer takes it by its namespace
    assert root.tag == f"{SVG}svg"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "TTL & co, alpha 0.1 to 0.2" in texts
    assert "third, alpha 0.5 to 0.5" in texts
    assert len(list(root.iter(f"{SVG}style"))) == 1
    height = float(root.attrib["viewBox"].split()[3])
    assert all(float(text.attrib["y"]) < height for text in root.iter(f"{SVG}text"))


def test_a_series_without_results_is_in_the_legend_alone() -> None:
    drawn = figure([series("TTL", ("ttl:alpha=0.1", 40.0, 5.0)), series("nothing")])
    assert "nothing" in [text.text for text in ET.fromstring(drawn).iter(f"{SVG}text")]


def test_the_frontier_of_results_has_a_curve_for_each_policy_and_the_star_of_the_oracle() -> None:
    root = ET.fromstring(frontier_chart(results()))
    named = [text.text for text in root.iter(f"{SVG}text")]
    assert {"ttl, alpha 0.1 to 0.4", "oracle", "always"} <= set(named)
