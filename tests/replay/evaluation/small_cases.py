"""Small traces to evaluate, and outcomes of evaluations."""

import numpy as np

from bestbefore.policies.units import DAY_S
from bestbefore.replay.evaluation.case import Case, Known
from bestbefore.replay.evaluation.compared import Compared
from bestbefore.replay.evaluation.comparison import Comparison, ReplayConditions
from bestbefore.replay.evaluation.curves import Curve
from bestbefore.replay.evaluation.evaluation import Setting, SettingResult
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests, Updates

OBJECTS = ("a", "b", "c")


def case(seed: int = 1, days: float = 6.0) -> Case:
    """Three objects that change every six hours in the mean, each requested every ten minutes by two clients."""
    random = np.random.default_rng(seed)
    n, asked = int(12 * days), int(432 * days)
    return Case(
        "own",
        f"seed {seed}",
        Updates.of(
            np.floor(random.random(n) * days * DAY_S), random.integers(0, 3, n).astype(np.int32), OBJECTS
        ),
        Requests.of(
            np.floor(random.random(asked) * days * DAY_S), random.integers(0, 2, asked).astype(np.int32),
            random.integers(0, 3, asked).astype(np.int32), ("x", "y"), OBJECTS,
        ),
        0.0,
        days / 2 * DAY_S,
    )  # fmt: skip


TTL, FIXED, SQUID = (
    Compared.of(spec) for spec in ("ttl:alpha=0.1..1/2", "fixed:interval=1h..4h/2", "squid:percent=1..9/2")
)
SHARED = ReplayConditions(Cache.SHARED, Known.COMPLETE)


def outcome(seed: int, ttl: float, squid: float, known: Known = Known.COMPLETE, cached: int = 1000) -> SettingResult:
    curves = {"ttl:alpha": Curve([(0.01, ttl)]), "squid:percent": Curve([(0.01, squid), (0.02, squid / 2)])}
    curves["fixed:interval"] = Curve([(0.5, 0.01)])
    return SettingResult(
        Setting(case(seed), Cache.SHARED, known), curves, {"mixed": curves}, cached, 0.05, {0.01: 0.04, 0.02: 0.03}
    )


def compared(*outcomes: SettingResult) -> Comparison:
    return Comparison((TTL, FIXED, SQUID), outcomes, (0.01, 0.02))
