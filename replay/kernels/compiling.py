"""How kernels are compiled by numba, and where the result is kept."""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba

from bestbefore.policies import models, validation
from bestbefore.replay import kernels


def compiled(function: Callable[..., Any]) -> Any:
    """The function, to be compiled when it is first called; it releases the interpreter's lock."""
    # As nothing is allocated, references to arrays need not be counted (`_nrt`), which at each call of a function
    # takes as long as the arithmetic. No formula divides by zero, which need not be looked for (`error_model`).
    compiler = partial(numba.njit, nogil=True, error_model="numpy", _nrt=False)
    config: Any = numba.config
    set_before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(cache_folder())
        return compiler(cache=True)(function)
    except RuntimeError:  # there is no folder to write to
        return compiler()(function)
    finally:
        config.CACHE_DIR = set_before


def cache_folder() -> Path:
    """Where compiled code is kept from run to run.

    numba asks whether a function is still the same of the file that it stands in; ours calls functions of others. So
    all of them together are one folder's name. Raises RuntimeError if the user has no home.
    """
    digest = hashlib.sha256()
    for package in (models, validation, kernels):
        for file in sorted(Path(package.__path__[0]).glob("*.py")):
            digest.update(file.read_bytes())
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "bestbefore" / "kernels" / digest.hexdigest()[:16]
