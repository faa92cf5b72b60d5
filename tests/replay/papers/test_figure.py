from xml.etree import ElementTree as ET

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.figure import figure
from bestbefore.replay.report.series import Series
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.sweep import Result

SVG = "{http://www.w3.org/2000/svg}"


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
