"""A Dask cluster as the place where a function is evaluated for many arguments."""

import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from bestbefore.replay.cluster.errors import ClusterError
from bestbefore.replay.traces.errors import TraceError

AWAKE_EVERY_S = 0.02
LOOK_EVERY_S = 5.0
"""How often it is looked whether there are workers, while no value is ready."""
BACK_WITHIN_S = 90.0
"""How long there may be none: a process that has ended is replaced, which on a busy machine takes a minute."""


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """An open cluster; see `opening`."""

    client: Any
    """The `distributed.Client`."""
    address: str
    """The address of the scheduler, for messages."""

    @property
    def threads(self) -> int:
        """The number of threads of all workers."""
        return sum(self.client.nthreads().values())

    @contextmanager
    def map[A, R](self, function: Callable[[A], R], arguments: Sequence[A]) -> Iterator[Iterator[tuple[int, R]]]:
        """Yield an iterator over (index of the argument, value of the function), in the order of completion.

        Evaluation begins at once, an argument at a time on each thread of a worker. The function is pickled and sent to
        each worker once, and what it caches in itself remains there until another function comes. Where a worker dies,
        the argument that it was at is evaluated again on another, up to three times. What has not begun when the
        context ends is given up; what has begun is finished by workers of `join_cluster`, in vain.

        Raises what the function raises, but for an OSError or a TraceError a ClusterError that names the worker; and
        ClusterError if an argument ended all its workers, if all workers are lost, and if the scheduler is lost.
        """
        from distributed.protocol import pickle as by_value  # which pickles the functions of a script too

        pickled = by_value.dumps(function)
        # The result of a task is made again where its workers have died, unlike data that are scattered.
        given = self.client.submit(bytes, pickled, pure=False)
        digest = blake2b(pickled, digest_size=16).digest()
        futures = self.client.map(_evaluate, arguments, given=given, digest=digest, pure=False)
        pending = dict(enumerate(futures))
        places = {future.key: place for place, future in pending.items()}

        def values() -> Iterator[tuple[int, R]]:
            for future in self._completed(list(pending.values())):
                place = places[future.key]
                yield place, self._value(place, pending.pop(place))

        del futures, given  # a value that was fetched is freed on its worker
        try:
            yield values()
        finally:
            self._give_up(list(pending.values()))

    def _completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield the futures as they complete. Raises ClusterError if all workers end, and none comes back."""
        from distributed import as_completed

        completed = as_completed(futures, loop=self.client.loop)
        while completed.count():
            waited_s = absent_s = 0.0
            while not completed.has_ready():
                time.sleep(AWAKE_EVERY_S)
                waited_s += AWAKE_EVERY_S
                if waited_s >= LOOK_EVERY_S:
                    waited_s, absent_s = 0.0, 0.0 if self._has_workers() else absent_s + waited_s
                if absent_s >= BACK_WITHIN_S:
                    within = f"{BACK_WITHIN_S:g} s"
                    raise ClusterError(f"{self.address}: all workers have ended, and none has come back in {within}")
            yield next(completed)

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except OSError:  # the scheduler is lost, which the futures tell
            return True

    def _value(self, place: int, future: Any) -> Any:
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            times, last = error.allowed_failures + 1, error.last_worker.address
            raise ClusterError(
                f"part {place + 1} ended {times} workers, the last {last}: perhaps memory is too small"
            ) from None
        except (CancelledError, CommClosedError):
            raise ClusterError(f"{self.address}: the scheduler ended, or took the work back") from None

    def _give_up(self, futures: Sequence[Any]) -> None:
        if futures and self.client.status == "running":
            self.client.cancel(futures, force=True)


class _Last(threading.local):
    """The function that this thread of a worker evaluated last."""

    digest = b""
    function: Callable[[Any], Any]


_last = _Last()


def _evaluate(argument: Any, given: bytes, digest: bytes) -> Any:
    """Evaluate the pickled function on a worker."""
    try:
        if _last.digest != digest:
            _share_processors()
            _last.function = pickle.loads(given)  # noqa: S301 - Dask itself unpickles whatever its clients send
            _last.digest = digest
        return _last.function(argument)
    except (OSError, TraceError) as error:
        raise ClusterError(f"worker {_own_address()}: {_described(error)}") from None


def _share_processors() -> None:
    """Let polars, unless it is imported already, take as many threads as this worker has: by default it takes all.

    The threads of several workers would wait for each other, and a worker of one thread would use more than one.
    """
    from distributed import get_worker

    os.environ.setdefault("POLARS_MAX_THREADS", str(get_worker().state.nthreads))


def _own_address() -> str:
    from distributed import get_worker

    return f"{get_worker().address} ({socket.gethostname()}, process {os.getpid()})"


def _described(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
