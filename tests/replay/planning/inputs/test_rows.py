from collections.abc import Mapping
from pathlib import Path

import pytest

from bestbefore.replay.planning.inputs.rows import rows_of, seconds
from bestbefore.replay.traces.errors import TraceError


def pair(row: Mapping[str, str]) -> tuple[float, str]:
    return seconds(row, "at_s"), row["note"]


def test_columns_have_any_order_and_optional_ones_are_empty_if_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("other,at_s\nx, 1.5\n")
    assert list(rows_of(path, ("at_s",), ("note",), pair)) == [(1.5, "")]
    path.write_text("note,at_s\nx,-2\n")
    assert list(rows_of(path, ("at_s",), ("note",), pair)) == [(-2.0, "x")]


@pytest.mark.parametrize(("text", "wrong"), [
    ("", "line 1: no column 'at_s' in ''"),
    ("note\n", "line 1: no column 'at_s' in 'note'"),
    ("at_s\n1\n1,2\n", "line 3: 2 fields, expected 1 as in the header"),
    ("at_s\nsoon\n", "line 2: at_s 'soon': expected a number of seconds"),
    ("at_s\ninf\n", "line 2: at_s 'inf': expected"),
    ('at_s\n"1\n', "line 2: unexpected end of data"),
])
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=wrong):
        list(rows_of(path, ("at_s",), ("note",), pair))
