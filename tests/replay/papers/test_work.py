import math
from pathlib import Path

import pytest

from bestbefore.replay.papers.work import Work
from bestbefore.replay.traces.errors import TraceError


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_values_come_in_the_order_of_the_arguments(jobs: int) -> None:
    assert Work(None, print, jobs).each(math.sqrt, [9.0, 4.0, 1.0], "roots") == [3.0, 2.0, 1.0]


def test_a_file_of_the_traces_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    assert Work(tmp_path, print).trace("a.csv") == tmp_path / "a.csv"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"a\.csv: no such file; expected the folder of traces to have it"):
        Work(tmp_path, print).trace("a.csv")


def test_without_a_folder_of_traces_one_is_asked_for() -> None:
    with pytest.raises(TraceError, match=r"expected --traces DIR, a folder with a\.csv"):
        Work(None, print).trace("a.csv")
