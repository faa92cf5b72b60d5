"""The session that the page on planning shows is what the commands print now."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```console\n\$ (.*?)\n(.*?)```", (ROOT / "docs" / "planning.md").read_text(), re.DOTALL)


def test_the_session_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    """`cat` shows the file that the commands after it read; the others run one after the other in one folder."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = [(re.sub(r" \\\n +", " ", f"{first}\n{rest}").partition("\n")) for first, rest in BLOCKS]
    assert len(commands) > 4
    for command, _, shown in commands:
        words = shlex.split(command)
        if words[0] == "cat":
            (tmp_path / words[1]).write_text(shown)
        done = subprocess.run(
            words, cwd=tmp_path, env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=True,
        )
        assert done.stdout == shown, command
