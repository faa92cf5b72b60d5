"""The schedulers of a simulation: those of the table, and RxC with the true change rates."""

from collections.abc import Callable, Mapping

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.rq import RequestsByQueue
from bestbefore.policies.dissemination.rxc import RequestsByChange
from bestbefore.policies.dissemination.scheduler import Scheduler
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.validation.machinery.spec import unknown_name
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.repository import PAGES_PER_CHUNK

IDEAL = f"{RequestsByChange.name}_ideal"
"""The name of RxC with the true change rates."""

_Make = Callable[[Audience, Instance, Parameters], Scheduler]

_SPECIAL: Mapping[str, _Make] = {
    RequestsByQueue.name: lambda audience, _instance, parameters: RequestsByQueue(
        audience, queue_in_pages=parameters.queue_in_pages
    ),
    IDEAL: lambda audience, instance, _parameters: RequestsByChange(
        audience, intervals_s=instance.change_intervals_s().tolist()
    ),
}
"""Those that are made from more than an audience."""

NAMES = (*SCHEDULERS, *(name for name in _SPECIAL if name not in SCHEDULERS))


def check_name(name: str) -> None:
    """Raise ValueError for the name of no scheduler, with the nearest known one."""
    if name not in NAMES:
        raise ValueError(unknown_name("scheduler", name, NAMES))


def made(name: str, instance: Instance, parameters: Parameters) -> Scheduler:
    """Make a scheduler for the chunks of an instance, without clients."""
    audience = Audience(
        [PAGES_PER_CHUNK] * instance.repository.chunks,
        per_page=parameters.requests_in_pages,
        ties=instance.ties() if parameters.random_ties else None,
    )
    if name in _SPECIAL:
        return _SPECIAL[name](audience, instance, parameters)
    return SCHEDULERS[name](audience)
