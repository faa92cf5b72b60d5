"""The bound of all content in flight."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from bestbefore.addon.proxy.exchange.budget import FILES_TO_MEMORY, Budget
from bestbefore.addon.store.backend.bodies import RESERVE_BYTES

MIB = 1 << 20


def test_memory_is_taken_and_given_back() -> None:
    budget = Budget(100)
    assert budget.take(60)
    assert not budget.take(60)
    budget.release(60)
    assert budget.take(100)


def test_without_a_folder_there_are_no_files() -> None:
    budget = Budget(100)
    assert not budget.has_files
    assert budget.open_file() is None


def test_files_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    budget = Budget(100, tmp_path / "bodies", files_at_most=1)
    file = budget.open_file()
    assert file is not None
    assert budget.open_file() is None
    assert budget.take_file(100 * FILES_TO_MEMORY)
    assert not budget.take_file(1)
    budget.release_file(100 * FILES_TO_MEMORY)
    del file
    assert budget.open_file() is not None


def test_what_is_reserved_of_the_disk_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=RESERVE_BYTES + MIB))
    budget = Budget(MIB, tmp_path)
    assert budget.take_file(MIB // 2)
    assert not budget.take_file(MIB + 1)


def test_a_folder_that_cannot_be_written_gives_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert Budget(100, tmp_path / "file").open_file() is None


def test_processes_have_a_part_each() -> None:
    assert Budget.divided(64 * MIB, 4) == 16 * MIB


@pytest.mark.parametrize(("connections", "share"), [(0, MIB), (1, MIB), (100, 64 * MIB // 4 // 100), (5000, 65_536)])
def test_what_may_wait_on_a_connection_depends_on_how_many_there_are(connections: int, share: int) -> None:
    assert Budget(64 * MIB).share_bytes(connections, 65_536, MIB) == share


def test_what_was_written_since_the_disk_was_measured_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def measure(folder: Path) -> SimpleNamespace:
        measured.append(str(folder))
        return SimpleNamespace(free=RESERVE_BYTES + MIB)

    monkeypatch.setattr(shutil, "disk_usage", measure)
    budget = Budget(MIB, tmp_path)
    assert budget.take_file(MIB // 2)
    assert budget.take_file(MIB // 2)
    assert len(measured) == 1
    assert budget.take_file(1), "the disk has room again"
    assert len(measured) == 2
