import gzip
from pathlib import Path

import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.papers.refresh.crawled import DAYS, REAL_FILES
from bestbefore.replay.papers.refresh.sources import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page


def traces(folder: Path) -> Path:
    """A source of pages that change every 14 days, one of bursts of nine days, and one page seen to change once."""
    days = {
        "regular/a": range(0, DAYS + 14, 14), "bursts/a": [0, *range(60, 69), 2 * DAYS], "once/a": [5],
        "tens/a": range(0, 100, 10),
    }
    rows = [f"{name},{day * DAY_S + 60}" for name, own in days.items() for day in own]
    for name, some in zip(REAL_FILES, (rows, []), strict=True):
        with gzip.open(folder / name, "wt") as file:
            file.write("\n".join(["object,time", *some, ""]))
    return folder


def test_each_source_is_judged_by_the_tolerance(tmp_path: Path) -> None:
    """Bursts keep pages fresh for longer than the formula says."""
    page = Page("refresh", "made")
    agreements = write(Work(traces(tmp_path), lambda _: None), page)
    rows = {line.split(" | ")[0]: line for line in page.markdown.splitlines() if line.startswith("| `")}
    lines = page.markdown.splitlines()
    assert next(line for line in lines if line.startswith("| `bursts` | 1 |")).endswith("| no |")
    assert "| 10 d | 1 | 9 | 100 % |" in page.markdown
    assert "| `regular` | 1 | 0 % | 0 % | 100 % | 0 % | 0 % | 0 % |" in lines
    assert "| `bursts` | 1 | 0 % | 0 % | 100 % | 0 % | 0 % | 100 % |" in lines
    assert "once" not in "".join(rows)
    assert [(one.where, one.verdict) for one in agreements] == [
        ("Figure 15", "no"), ("Figure 14", "no"), ("Figure 17", "–"),
    ]
    assert list(page.figures) == ["refresh_14.svg"]


def test_without_traces_there_is_nothing_to_tell() -> None:
    page = Page("refresh", "made")
    write(Work(None, pytest.fail), page)
    assert not page.blocks
