"""The excerpt of a real trace, laid out as the folder of traces is."""

import csv
import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bestbefore.replay.papers.adaptive import multiples
from bestbefore.replay.papers.work import Work

BURSTY = ("ipr/57", "ipr/99", "scoop-extras/120")
MIXED = ("legislators/93", "legislators/247")

ONE_IN = 3
"""So many of the requests are left, so that the page is made in seconds."""


@pytest.fixture(scope="session")
def excerpt(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of traces made of the excerpt; the classes of its objects are given, not found."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "paired").mkdir()
    shutil.copy(data / "excerpt.arrivals.csv", folder / "arrivals_main.csv.gz")  # known by its content, not its name
    shutil.copy(data / "excerpt.updates.csv", folder / "paired" / "dev.updates.csv.gz")
    with gzip.open(data / "excerpt.requests.csv.gz", "rt") as requests:
        header, *lines = requests
    thinned = [line for place, line in enumerate(lines) if place % ONE_IN == 0]
    (folder / "paired" / "dev.requests.csv.gz").write_text("".join([header, *thinned]))
    with (data / "excerpt.updates.csv").open(newline="") as file:
        names = sorted({row["object"] for row in csv.DictReader(file)})
    rows = [f"{name},{'bursty' if name in BURSTY else 'mixed' if name in MIXED else 'cyclic'}" for name in names]
    (folder / "paired" / "dev.objects.csv").write_text("\n".join(["object,class", *rows, ""]))
    return folder


@pytest.fixture(scope="session")
def excerpt_work(excerpt: Path) -> Work:
    return Work(excerpt, pytest.fail)


@pytest.fixture
def work(excerpt_work: Work) -> Work:
    return excerpt_work


@pytest.fixture(scope="module")
def few_values() -> Iterator[None]:
    """So few parameters where the page has many, for the same reason."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiples, "TUNING", [0.004, 0.05, 0.6])
        patch.setattr(multiples, "BOUNDS", ("inf", "1h"))
        yield
