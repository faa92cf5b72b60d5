"""What a fetch of an object costs: the bytes that it is expected to receive, against the budgets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bestbefore.addon.config.prefetch_section import ByteBudget
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.candidate import CandidateTable
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import FloatArray

HEAD_BYTES = 500
"""About the size of the head of a response, which is all of a 304."""
SIZES_IN_MEAN = 1000
"""About how many sizes the mean is taken of, the last ones."""


@dataclass(slots=True)
class FetchCosts:
    """The costs of fetches, in fetches of the budget."""

    budget: FetchRate
    budget_bytes: ByteBudget | None
    """None: each fetch costs 1."""
    _mean_bytes: float = field(init=False, default=0.0)
    """The mean size of known contents."""
    _sizes: int = field(init=False, default=0)
    """How many the mean is of."""

    async def expected_bytes(self, record: Record, store: Store) -> float:
        """Return what a fetch is expected to receive; 0 where no budget limits bytes.

        Without a copy it will receive the content, whose size is taken to be the mean of those known.
        """
        if self.budget_bytes is None:
            return 0.0
        copies = [copy for copy in (await store.copies(record.url)).copies if copy.head.status == 200]
        if not copies:
            return HEAD_BYTES + self._mean_bytes
        self._sizes = min(self._sizes + 1, SIZES_IN_MEAN)
        self._mean_bytes += (max(copy.body.size for copy in copies) - self._mean_bytes) / self._sizes
        return expected_bytes(record, copies)

    def of(self, table: CandidateTable) -> FloatArray:
        """(n,) the costs of fetches: 1 or, if it is more, its part of the bytes.

        So fetches that cost no more than the budget of fetches in all receive no more than that of bytes.
        """
        if self.budget_bytes is None:
            return np.ones(len(table))
        return np.maximum(table.rows["expected_bytes"] * (self.budget.per_day / self.budget_bytes.per_day), 1.0)


def expected_bytes(record: Record, copies: Sequence[Copy]) -> float:
    """Return what a validation is expected to receive: a head and, if the object has changed, its content.

    The probability of a change is its share of the contacts so far, each of which compared with the one before; before
    the first comparison it is 1/2.
    """
    size_bytes = max(copy.body.size for copy in copies)
    compared = record.contacts - 1
    changed = max(compared - record.unchanged, 0)
    return HEAD_BYTES + size_bytes * (changed + 1.0) / (compared + 2.0)
