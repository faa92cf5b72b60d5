"""`walk`, compiled by numba: twin of `vectorised`."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

from bestbefore.policies import models, validation
from bestbefore.replay import kernels
from bestbefore.replay.kernels import walk

for part in (
    *walk.FORMULAS, walk.count_by_bin, walk.deciding_kind, walk.first_after, walk.first_at_or_after,
    walk.group_expiry_s, walk.is_in_burst, walk.rates_by_bin, walk.simple_expiry_s, walk.updates_of,
):
    register_jitable(part)
# Handing over all that is known at each contact would cost more than a simple rule does.
register_jitable(inline="always")(walk.expiry_s)


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


def _compiled() -> Any:
    config: Any = numba.config
    set_before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(cache_folder())
        return numba.njit(nogil=True, cache=True)(walk.replay)
    except RuntimeError:  # there is no folder to write to
        return numba.njit(nogil=True)(walk.replay)
    finally:
        config.CACHE_DIR = set_before


replay = _compiled()
"""As `walk.replay`, without the global interpreter lock. It is compiled when it is first called."""
