"""The public Python interface: what a researcher imports, and what the versions promise of it.

    from bestbefore.replay import api

The names of `__all__` are public, with the parameters, attributes and units that their docstrings give. In versions 0.x
a name may be renamed or removed, and a parameter changed, only with a new second number (0.2 to 0.3), and the changelog
says by what it is replaced; a new third number (0.2.0 to 0.2.1) only adds names and parameters with defaults, and mends
errors. A mended error may change counts, which the changelog says too. From 1.0 on the same holds with the first number
in place of the second. All other modules are internal and may change at any time.

Times are Unix seconds, UTC, float64; rates bear their unit in the name. No function reads a clock or draws at random
without a seed.
"""

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.scheduler import Scheduler
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.prefetch.table import ALLOCATIONS
from bestbefore.policies.validation.machinery.policy import Formula, Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.runs import ChannelRun
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan, baseline_plan, best_plan
from bestbefore.replay.report.chart import frontier_chart
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.sweeps.sweep import Result
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import Accesses
from bestbefore.replay.traces.inference.inference import Inferred, infer_updates
from bestbefore.replay.traces.reading import Reading, read_trace

__all__ = [  # noqa: RUF022 - in the order of a study: traces, policies, replay, planning, dissemination
    "read_updates", "read_requests", "Updates", "Requests",
    "read_trace", "Reading", "Accesses", "infer_updates", "Inferred", "TraceError",
    "POLICIES", "parse_spec", "Policy", "Formula", "History", "Group", "Verdict",
    "Scenario", "Cache", "Grouping", "Warm", "Engines", "Through", "Counts",
    "points_of", "Point", "Result", "frontier_chart",
    "ALLOCATIONS", "PlannedObjects", "Ids", "Aim", "best_plan", "baseline_plan", "ContactPlan",
    "SCHEDULERS", "Scheduler", "Audience", "Parameters", "ChannelRun",
]  # fmt: skip
