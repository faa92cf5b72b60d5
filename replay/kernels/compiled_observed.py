"""`observed` and `learning`, compiled by numba: twin of `interpreted_observed`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from numba.extending import register_jitable

from bestbefore.replay.kernels import learning, membership, observed, tallies
from bestbefore.replay.kernels.compiled import cache_folder

for part in (
    learning.add_update, learning.fold, learning.is_member, learning.learn, learning.tell, membership.hours_observed,
    membership.join, membership.meet, observed.bins_with_update, observed.expiry_s,
    observed.fallback_expiry_s, observed.group_expiry_s, observed.is_in_burst, tallies.count_in, tallies.keep_after,
    tallies.set_counts, tallies.take_off,
):
    register_jitable(part)



def _compiled(function: Callable[..., Any]) -> Any:
    """As `compiled` compiles its own, and for the same reasons."""
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


_replay = _compiled(observed.replay)
learn_all = _compiled(learning.learn_all)
tell_all = _compiled(learning.tell_all)


def replay(*arguments: Any) -> int:
    """As `observed.replay`, without its last argument and without the global interpreter lock.

    It is compiled when it is first called; so are `learn_all` and `tell_all`, which are those of `learning`.
    """
    decided: int = _replay(*arguments, observed.Room.empty())
    return decided
