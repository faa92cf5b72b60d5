"""Runs a command of this program in a process of its own, at the lowest priority, and reads its JSON."""

import asyncio
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bestbefore.addon.store.server import launch

PROGRESS = "BESTBEFORE_PROGRESS"
"""The variable of the environment with which commands write their progress to stderr as JSON."""
NICE = 19
LINES_KEPT = 20
"""The last lines of stderr that are kept, for the message of a command that fails."""
MOST_LINE_BYTES = 1 << 20
MOST_ROWS = 100_000
END_S = 5.0
"""How long to wait for the end of a command that was killed."""

type Row = Mapping[str, Any]
type Progressed = Callable[[float], None]
"""Called with the part of a command that is done, from 0 to 1."""


class CommandFailedError(RuntimeError):
    """A command has failed. The message is for the user: its own."""


async def run_command(arguments: Sequence[str], progressed: Progressed) -> list[Row]:
    """Run `bestbefore ARGUMENTS`; return the objects that it prints, one a line. Raises CommandFailedError.

    If it is cancelled, the command and what it has started are ended. It also ends with this process.
    """
    # -P: with -c, the working directory would come first on sys.path.
    code = "from bestbefore.addon.start import main; main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid())),
        *(sys.executable, "-P", "-c", code, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, PROGRESS: "json"},
        limit=MOST_LINE_BYTES,
        start_new_session=True,
    )
    try:
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        assert process.stdout is not None
        assert process.stderr is not None
        rows, said = await asyncio.gather(_rows(process.stdout), _said(process.stderr, progressed))
        status = await process.wait()
    finally:
        await _end(process)
    if status:
        raise CommandFailedError(said or f"bestbefore {arguments[0]} ended with status {status}")
    return rows


async def _rows(stream: asyncio.StreamReader) -> list[Row]:
    rows: list[Row] = []
    try:
        async for line in stream:
            rows.append(json.loads(line))
            if len(rows) > MOST_ROWS:
                raise CommandFailedError(f"the result has more than {MOST_ROWS:,} lines")
    except ValueError as error:  # also a line that is too long
        raise CommandFailedError(f"the result cannot be read: {error}") from None
    return rows


async def _said(stream: asyncio.StreamReader, progressed: Progressed) -> str:
    """Read the messages of a command; return the last lines that are no progress."""
    said: deque[str] = deque(maxlen=LINES_KEPT)
    while True:
        try:
            line = (await stream.readline()).decode(errors="replace")
        except ValueError:  # a line that is too long
            continue
        if not line:
            return "\n".join(said)
        done = _progress(line)
        if done is None:
            said.append(line.rstrip())
        else:
            progressed(done)


def _progress(line: str) -> float | None:
    """Return the part that is done, if a line of stderr is one of progress.

    >>> _progress('{"progress": "policies", "done": 3, "of": 4}'), _progress("a warning")
    (0.75, None)
    """
    if not line.startswith('{"progress"'):
        return None
    try:
        row = json.loads(line)
        return min(float(row["done"]) / float(row["of"]), 1.0)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a command and what it has started; nothing if it has ended. Its files are removed by others."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_S)
