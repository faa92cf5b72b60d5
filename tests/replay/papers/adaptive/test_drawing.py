import re
from pathlib import Path

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.drawing import add_rates_figure
from bestbefore.replay.report.page import Page
from bestbefore.replay.report.series import Series
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.sweep import Result


def series(*stale_hits: float) -> Series:
    results = []
    for place, stale in enumerate(stale_hits):
        spec = f"ttl:alpha=0.{place + 1}"
        counts = {"cached": 1200.0, "validations": 300.0 - 100 * place, "stale_hits": stale}
        results.append(Result(Point(spec, parse_spec(spec), "ttl:alpha={}"), counts))
    return Series("TTL", results, key="alpha")


def drawn(*all_series: Series, tmp_path: Path) -> str:
    page = Page("adaptive", "made here")
    add_rates_figure(page, "figure_7", "Figure 7", all_series)
    page.write(tmp_path)
    return (tmp_path / "adaptive_figure_7.svg").read_text() if page.figures else ""


def test_axes_are_shares_of_the_requests_that_found_a_copy(tmp_path: Path) -> None:
    svg = drawn(series(12.0, 24.0), tmp_path=tmp_path)
    assert "validations, % of the 1,200 requests that found a copy →" in svg
    assert "TTL, alpha 0.1 to 0.2" in svg


def test_points_without_stale_hits_are_left_out(tmp_path: Path) -> None:
    svg = drawn(series(0.0, 24.0), series(12.0, 24.0), tmp_path=tmp_path)
    assert len(re.findall(r'transform="translate\([\d.,]+\)" d=', svg)) == 3


def test_without_any_stale_hit_there_is_no_figure(tmp_path: Path) -> None:
    assert drawn(series(0.0, 0.0), tmp_path=tmp_path) == ""
