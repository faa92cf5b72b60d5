"""What the documents promise is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])

FOLDERS = ("addon", "policies", "replay", "tests", "deploy")
FILES = [str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page}: {target}"


MADE_ON_THE_PAGE = ("adding_a_policy.md", "adding_a_scheduler.md", "adding_a_trace_reader.md")
"""These name files that their reader is to write; tests/test_adding.py follows them."""
NOT_HERE = {"plugins/poll_schedule_vary.py", "behind.py", "hot.py", "bury.lua"}
"""Files of other programs, and of earlier days."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    """By their whole path or its end, as `engine/learning.py`."""
    if page.name in MADE_ON_THE_PAGE:
        return
    named = set(re.findall(r"`([\w/]+\.(?:py|lua))`", page.read_text())) - NOT_HERE
    assert sorted(name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in FILES)) == []


def test_the_commands_of_the_page_for_contributors_name_what_is_there() -> None:
    commands = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "contributing.md").read_text(), re.DOTALL)
    named = re.findall(r"(?<=\s)(?:tests/\S+|\.ci/\w+)", "\n" + "\n".join(commands))
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []


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
