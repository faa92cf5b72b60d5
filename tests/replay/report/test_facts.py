import numpy as np

from bestbefore.replay.report.facts import facts, refresh_facts
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

UPDATES = Updates.of(np.array([0.0, 700_000.0, 800_000.0]), np.zeros(3, dtype=np.int32), ("a",))


def test_the_replay_is_described_in_words() -> None:
    ids = np.zeros(2, dtype=np.int32)
    requests = Requests.of(np.array([0.0, 90_000.0]), np.arange(2, dtype=np.int32), ids, ("x", "y"), ("a", "b"))
    assert facts(Scenario.of(UPDATES, requests, warn=print)) == {
        "requests": "2 by 2 clients for 1 object, from 1970-01-01 00:00:00Z to 1970-01-02 01:00:00Z",
        "updates": "3 of 1 object, from 1970-01-01 00:00:00Z to 1970-01-10 06:13:20Z",
        "caches": "one for each client, empty at the start",
        "histories": "complete",
        "groups": "one, of all objects",
    }


def test_refreshes_are_described_in_words() -> None:
    """The first update comes before the first refresh, a week after it."""
    told = refresh_facts(RefreshScenario.of(UPDATES, warn=print), 1.0)
    assert told["updates"] == "2 of 1 object, each after its first refresh"
    assert told["refreshes"] == "when the policy says, at least 1 s apart"
