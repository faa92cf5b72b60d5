import gzip
from pathlib import Path

import numpy as np
import pytest

from bestbefore.policies.models.renewal.laws import Poisson
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.crawling.update_tails import FILES, PageTail, distance, write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def times(intervals_s: FloatArray) -> FloatArray:
    return np.round(np.cumsum(intervals_s))


def exponential(rng: np.random.Generator) -> FloatArray:
    return times(rng.exponential(DAY_S, 300))


def bursts(rng: np.random.Generator) -> FloatArray:
    return np.unique(times(DAY_S * rng.weibull(0.4, 300)))


def daily(rng: np.random.Generator) -> FloatArray:
    return np.round(np.arange(300) * DAY_S + 9 * HOUR_S + rng.uniform(0.0, 120.0, 300))


def test_the_distance_is_the_largest_between_two_distributions() -> None:
    """At ln 2 the law has half; the two intervals have none before it, and all after it."""
    assert distance(Poisson(1.0), np.full(2, np.log(2.0))) == pytest.approx(0.5)


def test_each_kind_of_page_is_near_its_law() -> None:
    rng = np.random.default_rng(6)
    assert PageTail.of(exponential(rng)).exponential
    long_tailed = PageTail.of(bursts(rng))
    assert (long_tailed.exponential, long_tailed.weibull) == (False, True)
    regular = PageTail.of(daily(rng))
    assert (regular.exponential, regular.weibull, regular.pareto, regular.clockwork) == (False, False, False, True)


def test_pages_are_counted_and_drawn_by_source(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    pages = {"one/a": exponential(rng), "one/b": bursts(rng), "two/a": daily(rng), "two/few": np.arange(50.0)}
    rows = [f"{name},{int(t)}" for name, own in pages.items() for t in own]
    for name, some in zip(FILES, (rows, []), strict=True):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write("\n".join(["object,time", *some, ""]))
    page = Page("crawling", "made")
    agreements = write(Work(tmp_path, lambda _: None), page)
    assert "| all | 3 | 1 | " in page.markdown
    assert "| `two` | 1 | 0 | 0 | 0 | 1 |" in page.markdown
    assert next(one.verdict for one in agreements) == "yes"
    assert list(page.figures) == ["crawling_6.svg"]


def test_without_traces_there_is_no_section() -> None:
    page = Page("crawling", "made")
    assert write(Work(None, pytest.fail), page) == []
    assert not page.blocks
