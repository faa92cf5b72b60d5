from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.channel import Channel, Served
from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.repository import Repository
from bestbefore.replay.multicast.runs import ChannelRun
from bestbefore.replay.multicast.schedulers import made
from bestbefore.replay.papers.multicast import impossible, simulations


def small_run(run: ChannelRun) -> Served:
    """A run with a hundredth of everything, over eight days."""
    law = ClientLaw(1.5, run.parameters.client_law.empty, run.parameters.client_law.hot_requests)
    few = {"subscribers": 4 + run.parameters.subscribers // 100, "downloaders": -(-run.parameters.downloaders // 20)}
    parameters = replace(run.parameters, **few, client_law=law)  # type: ignore[arg-type]
    repository = Repository.of(np.random.default_rng(1), (60, 1), (12, 2))
    instance = Instance.of(repository, parameters, run.seed)
    return Channel(instance, made(run.scheduler, instance, parameters), DAY_S / 10).run(8)


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """All simulations of the page are small, and two for each case."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulations, "served", small_run)
        patch.setattr(simulations, "seeds_of", lambda _parameters: range(1, 3))
        patch.setattr(impossible, "SEEDS", range(1, 3))
        yield
