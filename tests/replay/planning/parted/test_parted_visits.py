from functools import partial
from pathlib import Path

import polars as pl
import pytest

from bestbefore.replay.planning.parted.parted_plan import PartedObjects
from bestbefore.replay.planning.parted.parted_visits import VisitDivision
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError


def parted(folder: Path, **columns: list[float]) -> PartedObjects:
    paths = []
    for number in range(2):
        paths.append(folder / f"{number}.parquet")
        pl.DataFrame({"id": ["a", "b"], "rate": [2.0, 1.0], **columns}).write_parquet(paths[-1])
    return PartedObjects(folder, paths, partial(parallel_map, jobs=1))


def test_equal_objects_of_the_first_part_get_the_visit_that_is_left(tmp_path: Path) -> None:
    objects = parted(tmp_path)
    division = objects.divide_whole("freshness", "periodic")(5.0)
    assert isinstance(division, VisitDivision)
    out = tmp_path / "plan"
    out.mkdir()
    objects.write(division, out, 86400.0)
    assert [pl.read_parquet(out / f"{part}.parquet")["visits"].to_list() for part in (0, 1)] == [[2, 1], [1, 1]]
    assert objects.means(division, ("freshness",))["contacts"] == 5.0


def test_budgets_and_bounds_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    objects = parted(tmp_path, min=[0.0, 1.0])
    with pytest.raises(ValueError, match="the budget is 1 visits, but the least numbers of visits add up to 2"):
        objects.divide_whole("freshness", "periodic")(1.0)
    with pytest.raises(ValueError, match="each of the 4 objects that change needs a contact"):
        objects.divide_whole("age", "periodic")(3.0)
    with pytest.raises(ValueError, match="expected a whole number"):
        objects.divide_whole("age", "periodic")(4.5)
    pl.DataFrame({"id": ["a", "b"], "rate": [1, 1], "min": [0.0, 0.5]}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(TraceError, match=r"1.parquet: row 2: the least number of visits is 0.5"):
        objects.divide_whole("freshness", "periodic")
