"""What the documents promise is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:addon|policies|replay)/[\w/]+\.py)`", text))
    assert named
    for name in named:
        assert (ROOT / name).is_file(), name


def test_the_replay_of_the_readme_prints_what_the_readme_shows() -> None:
    """Its numbers are those of the same command now."""
    text = (ROOT / "README.md").read_text()
    found = re.search(r"\$ \.venv/bin/(bestbefore replay .*?\n)(policy  .*?)```", text, re.DOTALL)
    assert found is not None
    command, shown = found.groups()
    words = command.replace("\\\n", " ").split()
    done = subprocess.run(
        [Path(sys.executable).parent / words[0], *words[1:]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == shown
