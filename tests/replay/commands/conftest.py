"""A terminal, for what a command shows to who waits."""

import os
import pty
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest


@pytest.fixture
def on_terminal(start_process: Callable[..., "subprocess.Popen[bytes]"]) -> Callable[..., tuple[bytes, str]]:
    """Run a command that has a terminal as its stderr: what it prints on stdout, and what the terminal shows."""

    def run(*command: Any) -> tuple[bytes, str]:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm"}
        process = start_process(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
        os.close(theirs)
        shown = b""
        with os.fdopen(ours, "rb", buffering=0) as terminal, suppress(OSError):  # at its end, when nobody has it open
            while piece := terminal.read(65536):  # at once: it holds only so much for who does not read
                shown += piece
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return out, shown.decode()

    return run
