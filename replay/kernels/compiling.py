"""The compilation of kernels by numba, and the cache of compiled code."""

import hashlib
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from bestbefore import policies
from bestbefore.policies.units import DAY_S
from bestbefore.replay import kernels

UNUSED_S = 30 * DAY_S
"""The time after which an unused folder is removed, when a new one is made."""
_NAME = re.compile("[0-9a-f]{16}")
# Any, as versions of numba differ in their type annotations.
_njit: Any = numba.njit
_config: Any = numba.config
_caching: Any = caching


class _OwnFolder(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    """A cache in `CACHE_DIR` only: elsewhere numba could find code compiled from older sources."""

    _locator_classes = (_caching.UserProvidedCacheLocator,)


class _Kept(_caching.FunctionCache):  # type: ignore[misc]
    """The compiled code on disk; errors of reading lead to a new compilation, errors of writing are ignored."""

    _impl_class = _OwnFolder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # numba raises many types for damaged files
            with suppress(OSError):
                self.flush()  # otherwise the new code could not be saved
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):  # a full disk, say
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function, to be compiled at its first call; it releases the GIL."""
    # Without allocations no reference counting of arrays is needed (`_nrt`), which would take as long as the arithmetic
    # at each call. No formula divides by zero, so no check is needed (`error_model`).
    dispatcher = _njit(nogil=True, error_model="numpy", _nrt=False)(function)
    compile_for = dispatcher.compile
    dispatcher.compile = lambda signature: _compile(compile_for, signature)
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


def _compile(compile_for: Callable[[Any], Any], signature: Any) -> Any:
    with ended_by_interrupt():
        return compile_for(signature)


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let SIGINT end the process at once within this context, unless the process ignores it or handles it itself.

    Python would raise KeyboardInterrupt when LLVM returns, after seconds, or within one of llvmlite's callbacks, which
    print it and go on.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def cache_folder() -> Path:
    """Return the cache folder of compiled code, named by a digest of all sources of policies and kernels.

    numba itself checks only the file of the compiled function, not those of the functions that it calls. Raises
    RuntimeError if the user has no home directory.
    """
    digest = hashlib.sha256()
    for package in (policies, kernels):
        for file in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(file.read_bytes())
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "bestbefore" / "kernels" / digest.hexdigest()[:16]


def _take_into_use(folder: Path) -> None:
    """Make the folder and remove unused ones beside it, or mark an existing one as used.

    Other processes may use or remove the same folders; removed code is compiled again. Raises OSError.
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
