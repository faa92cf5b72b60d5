import json
from pathlib import Path

import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.runs import ChannelRun, as_json, mean_delay_days, served
from bestbefore.replay.multicast.schedulers import NAMES

PARAMETERS = Parameters(subscribers=20, downloaders=5, days=2, chunks_per_day=60.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_short_run_has_its_pinned_values(golden: Path, name: str) -> None:
    expected = json.loads((golden / "multicast.json").read_text())
    run = ChannelRun(name, PARAMETERS, 1)
    assert as_json(run, served(run)) == pytest.approx(expected[name])


def test_without_subscribers_there_is_no_freshness_and_without_downloaders_no_delay() -> None:
    run = ChannelRun("pop", Parameters(subscribers=0, downloaders=2, days=1), 1)
    found = as_json(run, served(run))
    assert found["freshness_over_clients"] is found["age_over_data_s"] is None
    run = ChannelRun("pop", Parameters(subscribers=1, days=1), 1)
    assert as_json(run, served(run))["delay_days"] is None


def test_the_mean_delay_is_of_those_that_have_everything() -> None:
    assert mean_delay_days([DAY_S, 3 * DAY_S]) == 2.0
    assert mean_delay_days([]) is None
