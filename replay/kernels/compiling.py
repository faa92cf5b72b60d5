"""The compilation of kernels by numba, and where the result is kept."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from bestbefore import policies
from bestbefore.policies.units import DAY_S
from bestbefore.replay import kernels

UNUSED_S = 30 * DAY_S
"""A folder of other sources that was not used for so long is removed when a new one is made."""
_NAME = re.compile("[0-9a-f]{16}")
# Some versions of numba have types and others not; none knows of all that is used here.
_njit: Any = numba.njit
_config: Any = numba.config
_caching: Any = caching


class _OwnFolder(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    """Keeps code in `CACHE_DIR` alone: in other places numba would find what it compiled of older formulas."""

    _locator_classes = (_caching.UserProvidedCacheLocator,)


class _Kept(_caching.FunctionCache):  # type: ignore[misc]
    """The compiled code on disk. What cannot be read is compiled again; what cannot be written is not kept."""

    _impl_class = _OwnFolder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever damaged files bring numba to raise
            with suppress(OSError):
                self.flush()  # else it could not be kept either
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):  # a full disk, say
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any]) -> Any:
    """The function, to be compiled when it is first called; it releases the interpreter's lock."""
    # As nothing is allocated, references to arrays need not be counted (`_nrt`), which at each call of a function
    # takes as long as the arithmetic. No formula divides by zero, which need not be looked for (`error_model`).
    dispatcher = _njit(nogil=True, error_model="numpy", _nrt=False)(function)
    set_before = _config.CACHE_DIR
    try:
        folder = cache_folder()
        _take_into_use(folder)
        _config.CACHE_DIR = str(folder)
        dispatcher._cache = _Kept(function)  # noqa: SLF001 (as its `enable_caching` does)
    except (OSError, RuntimeError):  # there is no folder to write to
        pass
    finally:
        _config.CACHE_DIR = set_before
    return dispatcher


def cache_folder() -> Path:
    """Return where compiled code is kept between runs.

    numba asks whether a function is still the same of the file that it stands in; ours calls functions of others. So
    all of them together are one folder's name. Raises RuntimeError if the user has no home.
    """
    digest = hashlib.sha256()
    for package in (policies, kernels):
        for file in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(file.read_bytes())
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "bestbefore" / "kernels" / digest.hexdigest()[:16]


def _take_into_use(folder: Path) -> None:
    """Make the folder, and remove unused ones beside it; one that exists is marked as used.

    Other processes may be using or removing the same: what is gone is compiled again. Raises OSError.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        os.utime(folder)
        return
    made_s = folder.stat().st_mtime
    for other in folder.parent.iterdir():
        with suppress(OSError):
            if _NAME.fullmatch(other.name) and made_s - other.stat().st_mtime > UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)
