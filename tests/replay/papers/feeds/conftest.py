"""A small folder of made posting traces, in which little feeds are many and busy ones few, as in the real ones."""

from pathlib import Path

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.work import Work

BEGUN_S = 1_600_000_000.0
FEEDS = {"feeds": 4, "commits": 10, "releases": 14}
DAYS = 170


def posting_times_s(rng: np.random.Generator, per_day: float) -> list[float]:
    """Postings in the afternoon, on half of the days none."""
    number = max(int(rng.poisson(per_day * DAYS)), 2)
    days = rng.choice(DAYS // 2, number) * 2 + rng.integers(0, 2)
    return np.unique((days * DAY_S + rng.normal(15.0, 2.0, number) * HOUR_S + BEGUN_S).round()).tolist()


@pytest.fixture(scope="session")
def postings_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page reads."""
    folder = tmp_path_factory.mktemp("postings")
    rng = np.random.default_rng(5)
    for trace, number in FEEDS.items():
        rows = [
            (time, f"{trace}/{feed}")
            for feed in range(number)
            for time in posting_times_s(rng, 0.02 * 500 ** (feed / number))
        ]
        lines = [f"{feed},{time:.0f}" for time, feed in sorted(rows)]
        (folder / f"postings_{trace}.csv.gz").write_text("\n".join(["object,time", *lines, ""]))  # known by its content
    return folder


@pytest.fixture
def work(postings_folder: Path) -> Work:
    return Work(postings_folder, pytest.fail)
