"""The page on safety names files and tests; they must be there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = "live|rfc9111|engine|admin|proxy|store|traffic|commands|prefetcher|hub"
PAGE = (ROOT / "docs" / "safety.md").read_text()


def test_the_files_are_there() -> None:
    named = set(re.findall(r"`(addon/[\w/]+\.py)`", PAGE))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_the_tests_are_there() -> None:
    for row in (line for line in PAGE.splitlines() if line.startswith("|")):
        files = re.findall(rf"`((?:{FOLDERS})(?:/\w+)*/test_\w+)`", row)
        found = [path for name in files for path in (ROOT / "tests").rglob(f"{name}.py")]
        assert len(found) >= len(files), row
        text = "".join(path.read_text() for path in found)
        for beginning in re.findall(r"`(test_\w+)(?:\.\.\.)?`", row):
            assert f"def {beginning}" in text, beginning
