"""`walk`, compiled by numba: twin of `vectorised`."""

from typing import Any

from numba.extending import register_jitable

from bestbefore.replay.kernels import deciding, lookup, walk
from bestbefore.replay.kernels.compiling import compiled

for part in (
    *deciding.FORMULAS, deciding.expected_after, deciding.fallback_kind, deciding.group_expiry_s, deciding.indagg_kind,
    deciding.individual_expiry_s, deciding.join_bins, deciding.next_interval_s, deciding.set_rates_by_bin,
    deciding.simple_expiry_s, lookup.first_after, lookup.first_at_or_after, lookup.first_of_owner_after,
    lookup.row_of_hour, lookup.set_counts, lookup.updates_of, walk.follow, walk.is_in_burst,
):
    register_jitable(part)
# Handing over all that is known at each contact would cost more than a simple rule does.
register_jitable(inline="always")(walk.expiry_s)

_replay = compiled(walk.replay)


def replay(*arguments: Any) -> int:
    """As `walk.replay`, without its last argument and without the global interpreter lock.

    It is compiled when it is first called.
    """
    decided: int = _replay(*arguments, deciding.ByBin.empty())
    return decided
