"""`bestbefore backup`; what is in it is tested in tests/addon/store/backup."""

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def test_a_file_that_is_no_backup_is_not_replaced_and_one_that_is_may_be(
    filled: Path, bestbefore: Run, tmp_path: Path
) -> None:
    other, file = tmp_path / "proxy.toml", tmp_path / "a.bb"
    other.write_text("[proxy]")
    status, _, why = bestbefore("backup", other, "--state", filled)
    assert (status, why) == (2, f"bestbefore: {other}: exists and is no backup: give another name\n")
    assert other.read_text() == "[proxy]"
    for _ in range(2):
        status, said, _ = bestbefore("backup", file, "--state", filled, "--json")
        assert (status, json.loads(said)) == (0, {"file": str(file), "objects": 3, "bytes": file.stat().st_size})
    status, _, why = bestbefore("backup", tmp_path / "none" / "a.bb", "--state", filled)
    assert (status, "No such file or directory" in why) == (1, True)
