"""`walk`, compiled by numba: twin of `vectorised`."""

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

from bestbefore.policies import models, validation
from bestbefore.replay import kernels
from bestbefore.replay.kernels import lookup, walk

for part in (
    *walk.FORMULAS, walk.deciding_kind, lookup.first_after, lookup.first_at_or_after, lookup.first_of_owner_after,
    walk.follow, walk.group_expiry_s, walk.is_in_burst, walk.join_bins, walk.next_interval_s, lookup.row_of_hour,
    lookup.set_counts, walk.set_rates_by_bin, walk.simple_expiry_s, lookup.updates_of,
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
    # As nothing is allocated, references to arrays need not be counted (`_nrt`), which at each call of a function
    # takes as long as the arithmetic. No formula divides by zero, which need not be looked for (`error_model`).
    compiler = partial(numba.njit, nogil=True, error_model="numpy", _nrt=False)
    config: Any = numba.config
    set_before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(cache_folder())
        return compiler(cache=True)(walk.replay)
    except RuntimeError:  # there is no folder to write to
        return compiler()(walk.replay)
    finally:
        config.CACHE_DIR = set_before


_replay = _compiled()


def replay(*arguments: Any) -> int:
    """As `walk.replay`, without its last argument and without the global interpreter lock.

    It is compiled when it is first called.
    """
    decided: int = _replay(*arguments, walk.ByBin.empty())
    return decided
