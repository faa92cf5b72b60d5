"""Files without names."""

import gc
import os
from pathlib import Path

import pytest

from bestbefore.addon.store.backend.unlinked import COPIED_BYTES, UnlinkedFile, whole


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_what_is_added_is_read(tmp_path: Path) -> None:
    file = UnlinkedFile(tmp_path)
    file.add(b"0123")
    file.add(b"4567")
    assert len(file) == 8
    assert file.read(2, 4) == b"2345"
    assert file.read(6, 100) == b"67"
    assert file.read(8, 1) == b""
    assert whole(file) == b"01234567" == whole(b"01234567")


def test_it_has_no_name_and_is_gone_with_the_last_reference(tmp_path: Path) -> None:
    before = open_files()
    file = UnlinkedFile(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert open_files() == before + 1
    del file
    gc.collect()
    assert open_files() == before


def test_it_is_copied(tmp_path: Path) -> None:
    file, content = UnlinkedFile(tmp_path), os.urandom(COPIED_BYTES + 10)
    file.add(content)
    with (tmp_path / "copy").open("wb") as copy:
        file.copy_to(copy)
    assert (tmp_path / "copy").read_bytes() == content


def test_without_a_folder_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        UnlinkedFile(tmp_path / "missing")
