"""The number of workers where none is configured."""

import os
from pathlib import Path

import pytest

from bestbefore.addon.workers.cores import MOST_BY_DEFAULT, default_workers


@pytest.mark.parametrize(
    ("cores", "limits", "expected"),
    [
        (1, {}, 1),
        (3, {"a/b": "max 100000"}, 3),
        (64, {}, MOST_BY_DEFAULT),
        (64, {"a": "250000 100000", "a/b": "max 100000"}, 2),
        (64, {"a/b": "50000 100000"}, 1),
        (2, {"a/b": "what?"}, 2),
    ],
)
def test_there_is_one_for_each_core_that_the_process_may_use(
    cores: int, limits: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: range(cores))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/a/b\n")
    for group, limit in limits.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{limit}\n")
    assert default_workers(tmp_path) == expected
