from pathlib import Path

import pytest

from bestbefore.replay.planning.inputs.made_file import MadeContact, read_made
from bestbefore.replay.traces.errors import TraceError


def test_a_file_of_slots_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.slots.csv"
    path.write_text("id,crawler,slot,start_s,ideal_s\na,0,4,3600.0,3599.5\nb,0,0,-1,0\n")
    assert read_made(path) == [MadeContact("a", 3600.0), MadeContact("b", -1.0)]


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.csv"
    path.write_text("id,start_s\na,noon\n")
    with pytest.raises(TraceError, match="line 2: start_s 'noon': expected a number of seconds"):
        read_made(path)
