"""The means to make a page of a paper: the traces, the processor cores, and a progress bar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.sweeps.progress import Bar, no_bar
from bestbefore.replay.traces.errors import TraceError


@dataclass(frozen=True, slots=True)
class Work:
    """The means to make a page of a paper."""

    traces: Path | None
    """The folder of traces; None, if none was given."""
    warn: Callable[[str], None]
    """Is called with one line for what the user should know of a trace."""
    jobs: int = 1
    """How many processes share the work."""
    bar: Bar = no_bar

    def trace(self, name: str) -> Path:
        """The file of this name in the folder of traces. Raises TraceError if it is not there."""
        if self.traces is None:
            raise TraceError(f"expected --traces DIR, a folder with {name}")
        path = self.traces / name
        if not path.is_file():
            raise TraceError(f"{path}: no such file; expected the folder of traces to have it")
        return path

    def each[A, R](self, function: Callable[[A], R], arguments: Sequence[A], what: str) -> list[R]:
        """The values of a function, in the order of its arguments; `what` says meanwhile what is done.

        The function goes to other processes, so that it is one of a module, perhaps with `partial`.
        """
        with parallel_map(function, arguments, self.jobs) as values, self.bar(what, len(arguments)) as watch:
            found = dict(watch(values))
        return [found[place] for place in range(len(arguments))]
