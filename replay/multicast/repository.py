"""The repository of the simulation: sites of three sizes, divided into chunks of pages.

Source: `multicast`, Table 1 and section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bestbefore.policies.units import IntArray

PAGES_PER_CHUNK = 15
SMALL, MEDIUM, LARGE = (16_800, 1), (3_360, 4), (840, 66)
"""(sites, chunks of each), together 85,680 chunks."""
SITES = 21_000


@dataclass(frozen=True, slots=True, eq=False)
class Repository:
    """Sites of several sizes; the chunks of a site are consecutive numbers, and so are the pages of a chunk."""

    first_chunk: IntArray
    """(sites + 1,) the first chunk of each site; at the end the number of chunks."""
    by_size: Sequence[IntArray]
    """The sites of each size."""

    @classmethod
    def of(cls, rng: np.random.Generator, *groups: tuple[int, int]) -> Self:
        """Draw the order of the sites of some groups, each (number of sites, chunks of each).

        In an order by size, circular broadcast would send all small sites in one part of a round, and the freshness of
        the clients, most of whose sites are small, would swing with the rounds.
        """
        chunks = rng.permutation(np.concatenate([np.full(sites, of_each) for sites, of_each in groups]))
        by_size = [np.flatnonzero(chunks == of_each) for _, of_each in groups]
        return cls(np.concatenate([[0], np.cumsum(chunks)]), by_size)

    @property
    def sites(self) -> int:
        return len(self.first_chunk) - 1

    @property
    def chunks(self) -> int:
        return int(self.first_chunk[-1])

    def chunks_of(self, sites: IntArray) -> list[int]:
        """The chunks of some sites, in the order of the sites."""
        spans = zip(self.first_chunk[sites].tolist(), self.first_chunk[sites + 1].tolist(), strict=True)
        return [chunk for first, end in spans for chunk in range(first, end)]
