"""Pages of docs/results that a benchmark writes: what it printed, the date, the machine's cores and the command."""

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def write_page(path: Path, title: str, explanation: str, printed: str, *, preformatted: bool = True) -> None:
    """Write a page whose table is `printed`, preformatted or itself Markdown, as a run of this process.

    Of absolute paths in the command, which mean nothing elsewhere, the page shows the last part.
    """
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    script = Path(sys.argv[0])
    command = shlex.join(["python", f"tests/bench/{script.name}", *map(_shown, sys.argv[1:])])
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    path.write_text(
        f"# {title}\n\n{explanation}\n\nMade {made} with bestbefore {version('bestbefore')} on {machine}, by\n\n"
        f"    {command}\n\n" + (f"```\n{printed.rstrip()}\n```\n" if preformatted else f"{printed.rstrip()}\n")
    )


def _shown(argument: str) -> str:
    return Path(argument).name if argument.startswith("/") else argument
