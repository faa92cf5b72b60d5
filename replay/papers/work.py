"""The resources for making the page of a paper: traces, processes, and a progress bar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestbefore.replay.cluster.cluster import DaskCluster
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.sweeps.progress import Bar, no_bar
from bestbefore.replay.traces.errors import TraceError


@dataclass(frozen=True, slots=True)
class Work:
    """The resources for making the page of a paper."""

    traces: Path | None
    """The folder of traces; None if none is given."""
    warn: Callable[[str], None]
    """Called with each warning on a trace, one line."""
    jobs: int = 1
    """The number of processes."""
    bar: Bar = no_bar
    cluster: DaskCluster | None = None
    """Where to compute in place of processes here."""

    def trace(self, name: str) -> Path:
        """Return the path of a file in the folder of traces. Raises TraceError if it does not exist."""
        if self.traces is None:
            raise TraceError(f"expected --traces DIR, a folder with {name}")
        path = self.traces / name
        if not path.is_file():
            raise TraceError(f"{path}: no such file; expected the folder of traces to have it")
        return path

    def each[A, R](self, function: Callable[[A], R], arguments: Sequence[A], what: str) -> list[R]:
        """Evaluate a function in parallel; return the values in the order of the arguments.

        The function must be picklable: a function of a module, perhaps with `partial`. `what` describes the progress.
        """
        if self.cluster is None:
            evaluated = parallel_map(function, arguments, self.jobs)
        else:
            evaluated = self.cluster.map(function, arguments)
        with evaluated as values, self.bar(what, len(arguments)) as watch:
            found = dict(watch(values))
        return [found[place] for place in range(len(arguments))]
