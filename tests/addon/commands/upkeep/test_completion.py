"""`bestbefore completion`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bestbefore.addon.commands.upkeep.completion import VARIABLE

COMMAND = Path(sys.executable).parent / "bestbefore"
SCRIPT = """
eval "$(bestbefore completion bash)"
COMP_WORDS=(bestbefore ba) COMP_CWORD=1; _bestbefore_completion bestbefore; echo "${COMPREPLY[@]}"
COMPREPLY=() COMP_WORDS=(bestbefore purge --d) COMP_CWORD=2; _bestbefore_completion bestbefore; echo "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_and_options() -> None:
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", SCRIPT], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["backup", "--dry-run"], done.stderr


def test_commands_are_listed_with_their_help() -> None:
    environ = {VARIABLE: "zsh_complete", "COMP_WORDS": "bestbefore res", "COMP_CWORD": "1"}
    done = subprocess.run([COMMAND], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["plain", "restore", "Restore what was learnt from a file."]
