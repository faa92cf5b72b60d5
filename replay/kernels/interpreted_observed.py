"""`observed` and `learning` without a compiler: twin of `compiled_observed`.

Interpreted, the loops are several times as fast over lists as over arrays.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bestbefore.replay.kernels import deciding, learning, observed


def replay(*arguments: Any) -> int:
    """As `observed.replay`, without its last argument."""
    with _as_lists(*arguments, deciding.ByBin.empty()) as lists:
        return observed.replay(*lists)


def learn_all(*arguments: Any) -> None:
    """As `learning.learn_all`."""
    with _as_lists(*arguments) as lists:
        learning.learn_all(*lists)


def tell_all(*arguments: Any) -> None:
    """As `learning.tell_all`."""
    with _as_lists(*arguments) as lists:
        learning.tell_all(*lists)


@contextmanager
def _as_lists(*arguments: Any) -> Iterator[list[Any]]:
    """The same arguments with lists in the place of arrays. What is written to these is in the arrays afterwards."""
    lists = [_listed(argument) for argument in arguments]
    yield lists
    for argument, lists_of_it in zip(arguments, lists, strict=True):
        _write_back(argument, lists_of_it)


def _listed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.tolist()
    if not isinstance(argument, tuple):
        return argument
    named: Any = type(argument)
    return named._make(map(_listed, argument))


def _write_back(argument: Any, lists: Any) -> None:
    if isinstance(argument, tuple):
        for part, lists_of_it in zip(argument, lists, strict=True):
            _write_back(part, lists_of_it)
    elif isinstance(argument, np.ndarray) and argument.size:
        argument[...] = lists
