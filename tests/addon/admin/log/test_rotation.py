"""The daily rotation of the request log."""

import os
from pathlib import Path

import pytest

from bestbefore.addon.admin.log.rotation import LogRotation
from bestbefore.policies.units import DAY_S

NOON_S = 1_706_227_200.0 + DAY_S / 2
"""2024-01-26 12:00 UTC."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "access.log"
    file.write_text("first\n")
    os.utime(file, (NOON_S, NOON_S))
    return file


def test_the_log_of_a_day_is_renamed_once_the_next_begins(log: Path) -> None:
    rotation = LogRotation(log, 30 * DAY_S, NOON_S)
    assert not rotation.turn(NOON_S + DAY_S / 2 - 1)
    assert rotation.turn(NOON_S + DAY_S / 2)
    assert names(log.parent) == ["access.log.2024-01-26"]
    log.write_text("second\n")
    assert not rotation.turn(NOON_S + DAY_S)
    assert rotation.turn(NOON_S + 2 * DAY_S)
    assert (log.parent / "access.log.2024-01-27").read_text() == "second\n"


def test_a_log_that_an_earlier_day_has_left_is_renamed_at_the_start(log: Path) -> None:
    assert LogRotation(log, 30 * DAY_S, NOON_S + 3 * DAY_S).turn(NOON_S + 3 * DAY_S)
    assert names(log.parent) == ["access.log.2024-01-26"]


def test_what_is_older_than_it_is_kept_is_removed_and_nothing_else(log: Path) -> None:
    others = ("access.log.1", "access.log.2023-01-01.gz", "access.logs.2023-01-01", "other.2023-01-01")
    for name in ("access.log.2024-01-18", "access.log.2024-01-19", "access.log.2024-01-18.1", *others):
        (log.parent / name).write_text("")
    assert LogRotation(log, 7 * DAY_S, NOON_S).turn(NOON_S + DAY_S / 2)  # of the 27th
    assert names(log.parent) == sorted([
        *(name for name in others if name != "access.log.1"), "access.log.1", "access.log.2024-01-26",
    ])  # fmt: skip


def test_nothing_is_overwritten_if_the_clock_was_set_back(log: Path) -> None:
    (log.parent / "access.log.2024-01-26").write_text("before\n")
    assert LogRotation(log, 30 * DAY_S, NOON_S).turn(NOON_S + DAY_S)
    assert names(log.parent) == ["access.log.2024-01-26", "access.log.2024-01-26.1"]
    assert (log.parent / "access.log.2024-01-26").read_text() == "before\n"


@pytest.mark.parametrize("content", [None, ""])
def test_a_day_without_lines_leaves_no_file(log: Path, content: str | None) -> None:
    rotation = LogRotation(log, 30 * DAY_S, NOON_S)
    log.unlink()
    if content is not None:
        log.write_text(content)
    assert not rotation.turn(NOON_S + DAY_S)
    assert names(log.parent) == ([] if content is None else ["access.log"])


def test_a_log_that_cannot_be_renamed_is_continued_and_tried_again(
    log: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotation = LogRotation(log, 30 * DAY_S, NOON_S)

    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        assert not rotation.turn(NOON_S + DAY_S)
        assert not rotation.turn(NOON_S + DAY_S + 1)
    assert len(caplog.messages) == 1
    assert "cannot be rotated: Permission denied; it is continued" in caplog.text
    assert rotation.turn(NOON_S + DAY_S + 2)
