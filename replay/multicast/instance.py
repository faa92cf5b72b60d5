"""An instance of the simulation: the repository, its pages and its clients, drawn from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray, IntArray
from bestbefore.replay.multicast.changes import Changes
from bestbefore.replay.multicast.laws import LAWS
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.repository import LARGE, MEDIUM, PAGES_PER_CHUNK, SMALL, Repository

ORDER, RATES, SUBSCRIBERS, DOWNLOADERS, CHANGES, TIES = range(6)
"""What is drawn, each from a generator of its own, so that instances of a seed share what they have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """What a channel has to serve. All schedulers serve the same instance, with the same changes at the same times."""

    seed: int
    repository: Repository
    subscribers: Sequence[IntArray]
    """The sites of each."""
    downloaders: Sequence[IntArray]
    changes: Changes
    """The changes of all pages that subscribers have."""

    @classmethod
    def draw(cls, parameters: Parameters, seed: int) -> Self:
        """Draw the base repository of the paper, its clients and its changes."""
        return cls.of(Repository.of(_generator(seed, ORDER), SMALL, MEDIUM, LARGE), parameters, seed)

    @classmethod
    def of(cls, repository: Repository, parameters: Parameters, seed: int) -> Self:
        """Draw the clients and changes of a repository."""
        clients = parameters.client_law
        subscribers = clients.draw(_generator(seed, SUBSCRIBERS), parameters.subscribers, repository)
        downloaders = clients.draw(_generator(seed, DOWNLOADERS), parameters.downloaders, repository)
        intervals = LAWS[parameters.law](_generator(seed, RATES), PAGES_PER_CHUNK * repository.chunks)
        intervals *= parameters.slower
        sites = np.unique(np.concatenate([*subscribers, np.array([], np.intp)]))
        chunks = np.array(repository.chunks_of(sites), np.intp)
        pages = (PAGES_PER_CHUNK * chunks[:, np.newaxis] + np.arange(PAGES_PER_CHUNK)).ravel()
        return cls(seed, repository, subscribers, downloaders, Changes(pages, 1.0 / intervals[pages], (seed, CHANGES)))

    def change_intervals_s(self) -> FloatArray:
        """(chunks,) the mean time between changes of any page of a chunk; infinite where none is simulated."""
        rates = np.bincount(
            self.changes.pages // PAGES_PER_CHUNK, self.changes.rates_per_day, minlength=self.repository.chunks
        )
        intervals_s: FloatArray = np.divide(DAY_S, rates, out=np.full(len(rates), np.inf), where=rates > 0.0)
        return intervals_s

    def ties(self) -> np.random.Generator:
        """The generator for ties that are broken at random."""
        return _generator(self.seed, TIES)


def _generator(seed: int, what: int) -> np.random.Generator:
    return np.random.default_rng((seed, what))
