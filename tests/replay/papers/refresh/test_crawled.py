import gzip
from pathlib import Path

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.papers.refresh.crawled import DAYS, REAL_FILES, crawl, real_pages, write
from bestbefore.replay.papers.refresh.synchronisation import Order
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def test_a_page_that_changes_every_noon_is_fresh_until_noon() -> None:
    every_day = np.ones((500, 20), np.bool_)
    found = crawl(Order.FIXED, 1.0, every_day, np.random.default_rng(1))
    # Crawled at x past noon: fresh for 1 - x, then stale for x; x is uniform.
    assert found.freshness == pytest.approx(0.5, abs=0.01)
    assert found.age_days == pytest.approx(1 / 6, abs=0.01)


def test_a_page_that_never_changes_is_fresh() -> None:
    found = crawl(Order.PURELY_RANDOM, 7.0, np.zeros((10, 20), np.bool_), np.random.default_rng(1))
    assert (found.freshness, found.age_days) == (1.0, 0.0)


def test_days_go_round() -> None:
    once = np.zeros((400, 20), np.bool_)
    once[:, 3] = True
    found = crawl(Order.FIXED, 10.0, once, np.random.default_rng(1))
    # Of each two crawls, 10 days apart, one is outdated, by 5 days on average.
    assert found.freshness == pytest.approx(0.75, abs=0.01)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """One page that changes every 14 days for two periods, one that changes daily, and an empty file."""
    rows = [f"page,{day * DAY_S + 60}" for day in range(0, 2 * DAYS + 14, 14)]
    rows += [f"daily,{day * DAY_S + 70}" for day in range(300)]
    for name, some in ((REAL_FILES[0], rows), (REAL_FILES[1], [])):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write("\n".join(["object,time", *some, ""]))
    return tmp_path


def test_real_pages_are_periods_with_changes_every_two_weeks(traces: Path) -> None:
    found = real_pages(Work(traces, lambda _: None))
    assert found.sum(axis=1).tolist() == [9, 9]
    assert np.flatnonzero(found[0]).tolist() == list(range(13, DAYS, 14))


@pytest.mark.slow
def test_without_traces_pages_are_simulated_alone(traces: Path) -> None:
    simulated, both = Page("refresh", "made"), Page("refresh", "made")
    write(Work(None, pytest.fail), simulated)
    write(Work(traces, lambda _: None), both)
    assert "| fixed | 28 d | 2 | 0.432 |" in simulated.markdown
    assert "2 periods of 128 days" in both.markdown
    assert "*Real*" not in simulated.markdown


def test_what_is_simulated_is_the_same_beside_real_pages(traces: Path) -> None:
    simulated, both = Page("refresh", "made"), Page("refresh", "made")
    write(Work(None, pytest.fail), simulated)
    write(Work(traces, lambda _: None), both)
    alone = [cells(line) for line in simulated.markdown.splitlines() if line.startswith("| ")][2:]
    beside = [cells(line) for line in both.markdown.splitlines() if line.startswith("| ")][2:]
    assert len(alone) == 12
    assert [[*row[:5], *row[6:8]] for row in beside] == alone


def cells(line: str) -> list[str]:
    """Of a row of a table."""
    return line.strip("| ").split(" | ")
