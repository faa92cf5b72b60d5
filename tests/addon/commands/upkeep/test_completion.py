"""`bestbefore completion`."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
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


@pytest.mark.parametrize(
    "words", ["proxy --state ", "proxy --log-file ", "hub --channel-key ", "purge --state ", "run --state "]
)
def test_the_shell_completes_paths(words: str) -> None:
    environ = {VARIABLE: "zsh_complete", "COMP_WORDS": f"bestbefore {words}", "COMP_CWORD": "3"}
    done = subprocess.run([COMMAND], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "file"


class Terminal:
    """An interactive zsh, with the completion as the help says to install it."""

    def __init__(self, home: Path) -> None:
        (home / ".zfunc").mkdir()
        script = subprocess.run([COMMAND, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
        (home / ".zfunc/_bestbefore").write_text(script)
        (home / ".zshrc").write_text("fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit -u; PROMPT=ready%#\n")
        path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(home)
            os.execvpe("zsh", ["zsh", "-i"], {"HOME": str(home), "TERM": "xterm", "PATH": path})

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def until(self, text: str, within_s: float = 60.0) -> str:
        """Return what the terminal shows, once it shows `text`."""
        shown, end_s = "", time.monotonic() + within_s
        while text not in shown:
            assert select.select([self.terminal], [], [], end_s - time.monotonic())[0], shown
            shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.terminal, 65_536).decode())
        return shown

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_completes_at_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "alpha.toml").touch()
    zsh = Terminal(tmp_path)
    try:
        zsh.until("ready")
        for typed, completed in (
            ("bestbefore rep", "lay "),
            ("bestbefore purge --dr", "y-run "),
            ("bestbefore tail --verdict m", "iss "),
            ("bestbefore proxy --config al", "pha.toml "),
            ("bestbefore proxy --log-file al", "pha.toml "),
        ):
            zsh.type(f"{typed}\t")
            zsh.until(typed[-4:] + completed)
            zsh.type("\x15")  # Ctrl-U clears the line
        zsh.type("bestbefore re\t")
        assert "Replay a trace" in zsh.until("Restore what was learnt from a file.")
    finally:
        zsh.close()
