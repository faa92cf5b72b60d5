from collections.abc import Callable

import numpy as np
import pytest

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.repository import Repository


@pytest.fixture
def small_repository() -> Repository:
    """Nine sites of 17 chunks."""
    return Repository.of(np.random.default_rng(9), (6, 1), (2, 3), (1, 5))


@pytest.fixture
def small(small_repository: Repository) -> Callable[..., Instance]:
    """Draws an instance of the small repository, whose pages change often (a tenth of them every other day)."""

    def draw(seed: int = 1, **given: object) -> Instance:
        known = {"subscribers": 4, "downloaders": 3, "law": "B", "client_law": ClientLaw(2.0)}
        parameters = Parameters(**{**known, **given})  # type: ignore[arg-type]
        return Instance.of(small_repository, parameters, seed)

    return draw
