import numpy as np
import pytest
from small_cases import case

from bestbefore.policies.units import DAY_S
from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache


@pytest.mark.parametrize(
    ("known", "warm"), [(Known.COMPLETE, None), (Known.OBSERVED, (Warm.CONTACTS, True)),
                        (Known.CHANGED, (Warm.CONTACTS, False)), (Known.FIRST_DAY, (Warm.NONE, True))],
)  # fmt: skip
def test_a_case_is_replayed_with_what_policies_know(known: Known, warm: tuple[Warm, bool] | None) -> None:
    scenario = case().scenario(Cache.SHARED, known)
    found = None if scenario.warmup is None else (scenario.warmup.warm, scenario.warmup.tells_times)
    assert (found, scenario.cache) == (warm, Cache.SHARED)


def test_the_first_day_has_the_requests_of_a_day() -> None:
    own = case()
    first_s = float(own.requests.times_s[0])
    replayed = own.scenario(Cache.CLIENT, Known.FIRST_DAY).requests
    assert (replayed.times_s[0], len(replayed)) == (first_s, len(own.requests.before(first_s + DAY_S)))


def test_other_updates_take_the_place_of_those_of_a_case() -> None:
    other = case().with_updates("other", {"b": np.array([5.0, 7.0]), "a": np.array([6.0])})
    assert (other.name, list(other.updates.rows())) == ("other", [(5.0, "b"), (6.0, "a"), (7.0, "b")])
    assert other.requests is not None
    assert len(case().with_updates("none", {}).updates) == 0
