"""The sessions that pages show are what the commands print; with a proxy: tests/live/operation/test_sessions.py."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planning.md", "policies.md", "replay.md", "first_steps/researcher.md"])
def test_the_session_of_a_page_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """One command runs after the other in one folder; `cat` of a file that none has written shows what it must hold."""
    page = (ROOT / "docs" / name).read_text()
    blocks = re.findall(r"```console\n\$ (.*?)```", page, re.DOTALL)
    commands = [re.sub(r" \\\n +", " ", block).partition("\n") for block in blocks]
    assert commands
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, _, shown in commands:
        words = shlex.split(command)
        if words[0] == "cat" and not (tmp_path / words[1]).exists():
            (tmp_path / words[1]).write_text(shown)
        done = subprocess.run(
            words, cwd=tmp_path, env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=True,
        )
        assert done.stdout == shown, command
