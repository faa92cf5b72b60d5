import os
import shutil
from pathlib import Path

import pytest

from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.traffic.files import DAY_S, LoggedRequest, TrafficFiles

NOON_S = 1_706_270_400.0
"""2024-01-26 12:00:00 UTC."""
URL, OTHER = "http://example.org/a?q=1", "http://example.org/b"


def request(time_s: float = NOON_S, url: str = URL) -> LoggedRequest:
    return LoggedRequest(time_s, "c1", url, 10, 200, Outcome.HIT, "indttl")


@pytest.fixture
def files(tmp_path: Path) -> TrafficFiles:
    return TrafficFiles(tmp_path)


def read(files: TrafficFiles) -> list[LoggedRequest]:
    return [request for path in files.days() for request in files.read(path)]


def test_what_is_appended_is_read_day_by_day(files: TrafficFiles) -> None:
    late, early = request(NOON_S), request(NOON_S - DAY_S, 'http://example.org/é\n"x",\x85\u2028')
    files.append([late, early])
    files.append([request(NOON_S + 1)])
    assert [path.name for path in files.days()] == ["2024-01-25.jsonl", "2024-01-26.jsonl"]
    assert read(files) == [early, late, request(NOON_S + 1)]


def test_there_may_be_no_log(files: TrafficFiles) -> None:
    files.append([])
    assert not files.folder.exists()
    assert files.days() == []
    assert files.forget(lambda _: True, NOON_S) == 0
    files.remove_before(NOON_S)


def test_no_other_user_may_read_it(files: TrafficFiles) -> None:
    files.append([request()])
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert files.days()[0].stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_off_is_passed_over_and_not_continued(files: TrafficFiles) -> None:
    files.append([request(), request(NOON_S + 1)])
    (path,) = files.days()
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert read(files) == [request()], whole[:end]
        files.append([request(NOON_S + 2)])
        assert read(files) == [request(), request(NOON_S + 2)], whole[:end]


@pytest.mark.parametrize("line", [b"", b"\xff", b"[1]", b'[1,"c","u",1,200,"hot","r"]', b"{}", b"\0" * 40])
def test_a_line_that_is_none_of_ours_is_passed_over(files: TrafficFiles, line: bytes) -> None:
    files.append([request()])
    with files.days()[0].open("ab") as file:
        file.write(line + b"\n")
    files.append([request(NOON_S + 1)])
    assert read(files) == [request(), request(NOON_S + 1)]


def test_a_request_whose_url_is_no_text_is_left_out(files: TrafficFiles) -> None:
    files.append([request(url="http://example.org/\udc80"), request()])
    assert read(files) == [request()]


def test_forgotten_requests_are_overwritten_up_to_their_moment(files: TrafficFiles) -> None:
    kept = [request(NOON_S - 5, OTHER), request(NOON_S + 1), request(NOON_S + DAY_S)]
    files.append([request(NOON_S - DAY_S), request(NOON_S - 6), *kept, request(NOON_S)])
    assert files.forget(URL.__eq__, NOON_S) == 3
    assert read(files) == kept
    assert files.forget(URL.__eq__, NOON_S) == 0
    assert b"q=1" not in files.days()[0].read_bytes()


def test_what_is_left_of_a_line_is_forgotten_too(files: TrafficFiles) -> None:
    files.append([request(url=OTHER)])
    with files.days()[0].open("ab") as file:
        file.write(b'[1706270400.0,"c1","http://example.org/a?q')
    assert files.forget(URL.__eq__, NOON_S) == 0
    files.append([request(NOON_S + 1)])
    assert b"a?q\n" not in files.days()[0].read_bytes()
    assert read(files) == [request(url=OTHER), request(NOON_S + 1)]


def test_days_that_ended_before_the_moment_are_removed_and_other_files_stay(files: TrafficFiles) -> None:
    files.append([request(NOON_S + n * DAY_S) for n in range(3)])
    (files.folder / "notes.txt").touch()
    files.remove_before(NOON_S + DAY_S)
    assert [path.stem for path in files.days()] == ["2024-01-27", "2024-01-28"]
    assert (files.folder / "notes.txt").exists()
    files.remove_before(-float("inf"))
    assert len(files.days()) == 2


def test_the_last_of_the_disk_is_left_to_the_histories(files: TrafficFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(files.folder.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=64 << 20))
    with pytest.raises(OSError, match=os.strerror(28)):
        files.append([request()])
    assert files.days() == []
