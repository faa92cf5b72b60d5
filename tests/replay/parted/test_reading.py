from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import read_part
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.errors import TraceError


@pytest.fixture
def trace(tmp_path: Path) -> PartedTrace:
    """Two updates and three requests of one object, in one part."""
    ids = np.zeros(3, dtype=np.int32)
    updates = Updates.of(np.array([1.0, 5.0]), ids[:2], ("a",))
    requests = Requests.of(np.array([2.0, 3.0, 7.0]), ids, ids, ("client",), ("a",))
    return split(updates, requests, tmp_path / "trace", "object", 1)


def test_a_part_has_its_events(trace: PartedTrace) -> None:
    updates, requests = read_part(trace, trace.folder, 0)
    assert (updates.times_s.tolist(), requests.times_s.tolist()) == ([1.0, 5.0], [2.0, 3.0, 7.0])


@pytest.mark.parametrize(("kind", "said"), [("updates", "1 rows: expected 2"), ("requests", "1 rows: expected 3")])
def test_a_file_of_other_rows_is_not_taken_for_the_part(trace: PartedTrace, kind: str, said: str) -> None:
    path = trace.folder / f"0000.{kind}.parquet"
    pl.read_parquet(path)[:1].write_parquet(path)
    with pytest.raises(TraceError, match=rf"0000.{kind}.parquet: {said}, as manifest.json says"):
        read_part(trace, trace.folder, 0)
