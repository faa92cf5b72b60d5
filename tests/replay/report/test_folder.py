from pathlib import Path

from bestbefore.replay.report.folder import write_report
from bestbefore.replay.report.measure import REFRESHES
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.sweep import Result

DELAYED = Result(*points_of("ttl"), {"refreshes": 20, "mean_delay_s": 1.5})
NEVER = Result(*points_of("never"), {"refreshes": 0})
ROW = {"policy": "ttl", "params": {}, "refreshes": 20}


def test_a_result_that_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    write_report(tmp_path, [DELAYED, NEVER], [ROW], {"made": "today"}, REFRESHES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.csv", "counts.json", "report.html"]
    assert "<dt>left out</dt><dd>never: no mean delay, s</dd>" in (tmp_path / "report.html").read_text()


def test_if_nothing_is_left_out_nothing_is_said_of_it(tmp_path: Path) -> None:
    write_report(tmp_path, [DELAYED], [ROW], {"made": "today"}, REFRESHES)
    assert "left out" not in (tmp_path / "report.html").read_text()


def test_without_a_result_to_draw_there_is_no_report(tmp_path: Path) -> None:
    write_report(tmp_path, [NEVER], [ROW], {}, REFRESHES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.csv", "counts.json"]
