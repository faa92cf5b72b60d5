import json
import math
from pathlib import Path
from typing import Any

import pytest

from bestbefore.policies.models import price
from bestbefore.policies.models.demand import CopyDemand, RequestRates, first_request, rates_at, requested
from bestbefore.policies.models.hazard.forecast import Profile, forecast_at, weekend_share
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at, updated_within
from bestbefore.policies.validation.machinery.tolerance import Mass, Price
from bestbefore.policies.validation.rules.renewal import passage_s

EXAMPLES = json.loads((Path(__file__).parents[3] / "data" / "renewal_examples.json").read_text())


def remembered(example: Any) -> UpdateMemory:
    memory = memory_since(example["t0"])
    for kind, *moments in example["events"]:
        if kind == "exact":
            memory = updated_at(memory, moments[0], max(moments[-1], memory.at_s))
        else:
            memory = updated_within(memory, max(moments[0], memory.at_s), moments[1])
    return memory


def asked(example: Any) -> CopyDemand:
    demand = first_request(example["requests"][0])
    for time_s in example["requests"][1:]:
        demand = requested(demand, time_s)
    return demand


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_decides_as_the_worked_examples(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "LARGEST_MASS", math.inf)  # the examples have no such limit
    t, group, expected = example["t"], example["group"], example["memory"]
    memory = remembered(example)
    assert memory == pytest.approx((
        expected["as_of"], expected["n"], expected["E"], expected["A"][0], expected["X"][0], expected["A"][1],
        expected["X"][1], expected["weekend"], *expected["logw"],
    ))
    of_group = weekend_share(group["n"], group["weekend"], 2 / 7)
    profile = Profile(
        expected["hours"],
        [(n + 1) / (group["n"] + 24) for n in group["hours"]],
        expected["n"],
        weekend_share(memory.updates, memory.weekend_updates, of_group),
    )
    rates = rates_at(asked(example), t)
    assert rates[:2] == pytest.approx(example["demand"]["rho"])
    requests = RequestRates(rates.day_per_s, rates.minutes_per_s, example["b"])
    forecast = forecast_at(memory, t, group["r0"])
    for tolerance, after_s in (
        (Price(example["price"]), example["expiry_after_s"]),
        (Mass(example["theta"]), example["expiry_after_theta_s"]),
    ):
        expiry_s = passage_s(t, forecast, profile, requests, tolerance)
        assert expiry_s - t == (math.inf if after_s is None else pytest.approx(after_s, rel=1e-6))
