"""`observed` and `learning`, compiled by numba: twin of `interpreted_observed`."""

from typing import Any

from numba.extending import register_jitable

from bestbefore.replay.kernels import compiled as _  # noqa: F401  which makes the formulas ready for compiling
from bestbefore.replay.kernels import deciding, learning, membership, observed, tallies
from bestbefore.replay.kernels.compiling import compiled

for part in (
    learning.add_update, learning.fold, learning.is_member, learning.learn, learning.tell, membership.hours_observed,
    membership.join, membership.meet, observed.is_in_burst, tallies.count_in, tallies.keep_after, tallies.set_counts,
    tallies.take_off,
):
    register_jitable(part)
register_jitable(inline="always")(observed.expiry_s)  # as in `compiled`

_replay = compiled(observed.replay)
learn_all = compiled(learning.learn_all)
tell_all = compiled(learning.tell_all)


def replay(*arguments: Any) -> int:
    """As `observed.replay`, without its last argument and without the global interpreter lock.

    It is compiled when it is first called; so are `learn_all` and `tell_all`, which are those of `learning`.
    """
    decided: int = _replay(*arguments, deciding.ByBin.empty())
    return decided
