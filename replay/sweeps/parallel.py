"""Parallel evaluation of a function over processes that end with their parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

# A forked process shares the trace in memory. On systems other than Linux, libraries may fail after a fork.
START_METHOD = "fork" if sys.platform == "linux" else "spawn"

CORES = os.cpu_count() or 1

_function: Callable[[Any], Any]
"""The function that a worker process evaluates. It is passed once, at the start, as pickling it copies the trace."""


@contextmanager
def parallel_map[A, R](
    function: Callable[[A], R], arguments: Sequence[A], jobs: int, start_method: str = START_METHOD
) -> Iterator[Iterator[tuple[int, R]]]:
    """Yield an iterator over (index of the argument, value of the function), in the order of completion.

    With one job or one argument the function runs in this process, when the iterator is advanced. Otherwise evaluation
    begins at once, in worker processes; a spawned one gets the function pickled. They end with the context, whatever
    ends it (such as Ctrl-C), and when this process is killed.

    Raises what the function raises, and BrokenProcessPool if a process ends for another reason, such as lack of memory.
    """
    jobs = min(jobs, len(arguments))
    if jobs <= 1:
        yield ((place, function(argument)) for place, argument in enumerate(arguments))
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(start_method), _begin, (function,))
    try:
        places: dict[Future[R], int] = {pool.submit(_evaluate, argument): i for i, argument in enumerate(arguments)}
        yield ((places[future], future.result()) for future in as_completed(places))
    except BaseException:
        # The current work of a worker, perhaps minutes, is of no use any more.
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent ends the workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by SIGTERM, whose handler in the parent is inherited
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _evaluate(argument: Any) -> Any:
    return _function(argument)
