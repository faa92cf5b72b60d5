"""`walk`, compiled by numba: twin of `vectorised`."""

from typing import Any

from numba.extending import register_jitable

from bestbefore.replay.kernels import lookup, walk
from bestbefore.replay.kernels.compiling import compiled

for part in (
    *walk.FORMULAS, walk.deciding_kind, lookup.first_after, lookup.first_at_or_after, lookup.first_of_owner_after,
    walk.follow, walk.group_expiry_s, walk.is_in_burst, walk.join_bins, walk.next_interval_s, lookup.row_of_hour,
    lookup.set_counts, walk.set_rates_by_bin, walk.simple_expiry_s, lookup.updates_of,
):
    register_jitable(part)
# Handing over all that is known at each contact would cost more than a simple rule does.
register_jitable(inline="always")(walk.expiry_s)

_replay = compiled(walk.replay)


def replay(*arguments: Any) -> int:
    """As `walk.replay`, without its last argument and without the global interpreter lock.

    It is compiled when it is first called.
    """
    decided: int = _replay(*arguments, walk.ByBin.empty())
    return decided
