"""Errors in words."""

from pathlib import Path

import pytest

from bestbefore.addon.errors import reason_of


def test_the_file_of_an_error_is_named_if_the_system_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "none").read_text()
    assert reason_of(missing.value) == f"No such file or directory: {tmp_path}/none"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_names_no_file() -> None:
    with pytest.raises(OSError, match="No space") as full:
        Path("/dev/full").write_text("x")
    assert reason_of(full.value) == "No space left on device"
