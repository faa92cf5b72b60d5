"""Parallel evaluation of one function for many arguments, over several processes that end with their parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

# A forked process has the trace without a copy of it. Elsewhere than on Linux, system libraries do not survive a fork.
START_METHOD = "fork" if sys.platform == "linux" else "spawn"

CORES = os.cpu_count() or 1

_function: Callable[[Any], Any]
"""In a worker: what it evaluates. It came with the process, since each argument would bring the trace along."""


@contextmanager
def evaluating[A, R](
    function: Callable[[A], R], arguments: Sequence[A], jobs: int, start_method: str = START_METHOD
) -> Iterator[Iterator[tuple[int, R]]]:
    """While the context lasts, the place of each argument and the value of the function there, as they become ready.

    With one job or one argument the work is done in this process, as the iterator is asked. Otherwise it begins at
    once, in other processes; a spawned one gets the function pickled. They end when the context does, whatever ends
    it (such as Ctrl-C), and when this process is killed.

    Raises what the function raises, and BrokenProcessPool if a process ends for another reason, as when memory runs
    out.
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
        # They may be in the middle of minutes of work, which is of no use any more.
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the parent ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # with which it does so, also where it ignores that itself
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _evaluate(argument: Any) -> Any:
    return _function(argument)
