from pathlib import Path

import pytest

from bestbefore.policies.prefetch.slots.assignment import Downtime
from bestbefore.replay.planning.inputs.closed_file import ClosedTime, read_closed
from bestbefore.replay.traces.errors import TraceError


def test_objects_and_crawlers_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "closed.csv"
    path.write_text("id,crawler,start_s,end_s\n,,0,10\na,1,5,6\n")
    assert read_closed(path, 2) == [
        ClosedTime(Downtime(0.0, 10.0)), ClosedTime(Downtime(5.0, 6.0, 1), "a"),
    ]


@pytest.mark.parametrize(("row", "wrong"), [
    ("2,0,1", "line 2: crawler '2': expected a number from 0 to 1"),
    (",2,1", "line 2: start_s 2, end_s 1: expected an end after the start"),
])
def test_what_closes_nothing_is_refused(tmp_path: Path, row: str, wrong: str) -> None:
    path = tmp_path / "closed.csv"
    path.write_text(f"crawler,start_s,end_s\n{row}\n")
    with pytest.raises(TraceError, match=wrong):
        read_closed(path, 2)
