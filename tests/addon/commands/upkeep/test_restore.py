"""`bestbefore restore`; what is restored is tested in tests/addon/store/backup."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


def test_a_new_state_folder_gets_what_was_saved(filled: Path, bestbefore: Run, tmp_path: Path, left: Callable) -> None:
    file, new = tmp_path / "a.bb", tmp_path / "new"
    assert bestbefore("backup", file, "--state", filled)[0] == 0
    status, said, _ = bestbefore("restore", file, "--state", new, "--json")
    restored = json.loads(said)
    assert (status, restored["objects"]) == (0, 3)
    assert left(new) == ([], left(filled)[1])
    assert bestbefore("restore", file, "--state", new)[1].startswith("restored 0 histories and 0 of counts")


def test_a_damaged_file_or_one_of_another_clock_creates_nothing(
    filled: Path, bestbefore: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, new = tmp_path / "a.bb", tmp_path / "new"
    bestbefore("backup", file, "--state", filled)
    whole = file.read_bytes()
    for content, why in (
        (whole[:-1], "its checksum does not fit"), (b"x" + whole, "is no backup of bestbefore"), (b"", "is no backup")
    ):
        file.write_bytes(content)
        status, _, said = bestbefore("restore", file, "--state", new)
        assert (status, why in said, new.exists()) == (2, True, False)
    file.write_bytes(whole)
    monkeypatch.setenv("BESTBEFORE_CLOCK", "now,10")
    status, _, said = bestbefore("restore", file, "--state", new)
    assert (status, "saved under the clock 'real'" in said, new.exists()) == (2, True, False)
