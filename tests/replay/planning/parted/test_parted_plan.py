import resource
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from bestbefore.replay.planning.parted.parted_plan import PartedObjects
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.traces.errors import TraceError


def parted(folder: Path, *weights: float) -> PartedObjects:
    paths = []
    for number, weight in enumerate(weights):
        paths.append(folder / f"{number}.parquet")
        pl.DataFrame({"id": [str(number)], "rate": [2.0], "weight": [weight]}).write_parquet(paths[-1])
    return PartedObjects(folder, paths, partial(parallel_map, jobs=1))


def test_a_plan_takes_few_rounds(tmp_path: Path) -> None:
    objects = parted(tmp_path, 1.0, 1.0, 0.0)
    assert (objects.totals.objects, objects.totals.updates, objects.files.rounds) == (3, 6.0, 1)
    division = objects.divide("delay")(4.0)
    assert objects.means(division, ("delay",)) == pytest.approx({"delay": 0.25, "contacts": 4.0})
    assert objects.files.rounds == 3
    out = tmp_path / "plan"
    out.mkdir()
    objects.write(division, out, 86400.0)
    assert pl.read_parquet(out / "1.parquet").select("frequency", "delay_s").rows() == [(2.0, 21600.0)]


def test_without_any_weight_there_is_no_plan(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no object has a weight above 0"):
        parted(tmp_path, 0.0, 0.0)


def test_a_disk_that_fills_is_an_error_of_the_system_with_the_file(tmp_path: Path) -> None:
    """Polars would raise an error of its own, or none."""
    objects = parted(tmp_path, 1.0)
    division = objects.divide("delay")(4.0)
    out = tmp_path / "plan"
    out.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large: ") as raised:
            objects.write(division, out, 86400.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.filename == str(out / "0.parquet")
    assert list(out.iterdir()) == []
