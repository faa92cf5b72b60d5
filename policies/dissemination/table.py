"""The table of schedulers by name. A new one needs its file, a line here and a test file."""

from collections.abc import Mapping

from bestbefore.policies.dissemination.circular import Circular
from bestbefore.policies.dissemination.gain import ExpectedGain, ExpectedGainOverData
from bestbefore.policies.dissemination.popularity import Popularity
from bestbefore.policies.dissemination.rq import RequestsByQueue
from bestbefore.policies.dissemination.rxc import RequestsByChange
from bestbefore.policies.dissemination.rxw import RequestsByWait
from bestbefore.policies.dissemination.scheduler import Scheduler

SCHEDULERS: Mapping[str, type[Scheduler]] = {
    Circular.name: Circular,
    Popularity.name: Popularity,
    RequestsByQueue.name: RequestsByQueue,
    RequestsByWait.name: RequestsByWait,
    RequestsByChange.name: RequestsByChange,
    ExpectedGain.name: ExpectedGain,
    ExpectedGainOverData.name: ExpectedGainOverData,
}
"""Each is made from a `Audience` alone; further parameters have defaults."""
