from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.slots.assignment import Downtime
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.closed_file import ClosedTime
from bestbefore.replay.planning.moments import evenly
from bestbefore.replay.planning.parted.part_files import FileParts, PartFile
from bestbefore.replay.planning.parted.parted_slots import CrawlerSlots, part_crawls, slotted_in_parts
from bestbefore.replay.planning.slotted import slotted
from bestbefore.replay.sweeps.parallel import parallel_map

HOUR = [ClosedTime(Downtime(0.0, 3600.0))]


def by_rate(columns: PartColumns) -> FloatArray:
    return columns.rates


@given(visits=st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=4), interval=st.booleans())
@settings(max_examples=20)
def test_slots_are_those_of_all_contacts_in_one_part(
    visits: list[list[int]], interval: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, boundary = tmp_path_factory.mktemp("parts"), "interval" if interval else "periodic"
    parts = []
    for number, of_part in enumerate(visits):
        parts.append(PartFile(folder / f"{number}.parquet", sum(map(len, visits[:number]))))
        frame = pl.DataFrame({"id": list(map(str, of_part)), "rate": of_part}, schema={"id": pl.String, "rate": float})
        frame.write_parquet(parts[-1].path)
    files = FileParts([part.path for part in parts], partial(parallel_map, jobs=1))
    slots = CrawlerSlots([96, 24], HOUR)
    found, shares = slotted_in_parts(files, parts, by_rate, slots, 86400.0, boundary)
    every = np.array([n for of_part in visits for n in of_part], dtype=np.int64)
    one = slotted(evenly(every, 86400.0, boundary), Ids.of(map(str, every)), slots.numbers, 86400.0, HOUR)
    assert found.late_slots.tolist() == one.late_slots.tolist()
    own = [
        share.slotted(part_crawls(np.array(of_part, dtype=np.float64), part, 86400.0, boundary), slots, 86400.0)
        for share, part, of_part in zip(shares, parts, visits, strict=True)
    ]
    assert [start for part in own for start in part.assignment.start_s] == one.assignment.start_s.tolist()
    assert [crawler for part in own for crawler in part.assignment.crawler] == one.assignment.crawler.tolist()
    assert [time for part in own for time in part.crawls.at_s] == one.crawls.at_s.tolist()


def test_slots_closed_to_single_objects_are_refused() -> None:
    CrawlerSlots([4], HOUR).refuse_objects()
    with pytest.raises(ValueError, match="slots are closed to 'a': closed to single objects, all pairs"):
        CrawlerSlots([4], [*HOUR, ClosedTime(Downtime(0.0, 10.0), "a")]).refuse_objects()


def test_too_few_slots_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pl.DataFrame({"id": ["a"], "rate": [3.0]}).write_parquet(path)
    files = FileParts([path], partial(parallel_map, jobs=1))
    with pytest.raises(ValueError, match="3 contacts in a period for 1 x 2 slots"):
        slotted_in_parts(files, [PartFile(path, 0)], by_rate, CrawlerSlots([2]), 86400.0, "periodic")
