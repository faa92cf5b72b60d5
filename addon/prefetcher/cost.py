"""What a fetch of an object costs: the bytes that it is expected to receive, against the budgets."""

from collections.abc import Sequence

from bestbefore.addon.config.prefetch_section import ByteBudget
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.wishes import FetchRate

HEAD_BYTES = 500
"""About the size of the head of a response, which is all of a 304."""


def expected_bytes(record: Record, copies: Sequence[Copy]) -> float:
    """Return what a fetch is expected to receive: a head and, if the object has changed, its content.

    The probability of a change is its share of the contacts so far, each of which compared with the one before; before
    the first comparison it is 1/2.
    """
    size_bytes = max((copy.body.size for copy in copies if copy.head.status == 200), default=0)
    compared = record.contacts - 1
    changed = max(compared - record.unchanged, 0)
    return HEAD_BYTES + size_bytes * (changed + 1.0) / (compared + 2.0)


def cost_of(received_bytes: float, budget: FetchRate, budget_bytes: ByteBudget) -> float:
    """Return the cost of a fetch in fetches of the budget: 1 or, if it is more, its part of the bytes.

    So fetches that cost no more than the budget of fetches in all receive no more than that of bytes.
    """
    return max(received_bytes * budget.per_day / budget_bytes.per_day, 1.0)
