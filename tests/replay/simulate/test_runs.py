import numpy as np
import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.runs import RefreshRun, RequestRun, Run
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0
UPDATES = Updates.of(
    np.array([0.0, 50.0, 8 * DAY, 0.0, 8 * DAY + 5.0]), np.array([0, 0, 0, 1, 1], dtype=np.int32),
    ("news/a", "shop/b", "idle/c"),
)
REQUESTS = Requests.of(
    np.array([10.0, 20.0, 60.0, 60.0]), np.zeros(4, dtype=np.int32), np.array([0, 0, 0, 1], dtype=np.int32), ("x",),
    ("news/a", "shop/b"),
)
DOMAINS = Breakdown.by_domain(("news/a", "shop/b", "idle/c"))
KINDS = Breakdown("class", {"news/a": "fast", "shop/b": "", "idle/c": ""})


def requests_run(
    *breakdowns: Breakdown, warm: Warm | None = None, wanted: Through = Through.FAST, tells_times: bool = True
) -> RequestRun:
    scenario = Scenario.of(UPDATES, REQUESTS, warm=warm, tells_times=tells_times, warn=print)
    return RequestRun(Engines(scenario, wanted), warm, breakdowns)


def refreshes_run(*breakdowns: Breakdown, warm: Warm | None = None) -> RefreshRun:
    return RefreshRun(RefreshScenario.of(UPDATES, warm=warm, warn=print), 1.0, breakdowns)


@pytest.mark.parametrize("wanted", Through)
def test_the_whole_comes_first_then_the_parts_by_name(wanted: Through) -> None:
    rows = requests_run(DOMAINS, KINDS, wanted=wanted).rows(parse_spec("ttl:alpha=0"))
    assert rows[0] == {"requests": 4, "misses": 2, "cached": 2, "hits": 0, "stale_hits": 0, "validations": 2,
                       "unnecessary": 1}
    assert [next(iter(row.items())) for row in rows[1:]] == [
        ("domain", "news"), ("domain", "shop"), ("class", ""), ("class", "fast"),
    ]
    assert [row["requests"] for row in rows[1:]] == [3, 1, 1, 3]


def test_objects_without_requests_are_no_part() -> None:
    assert not any(row.get("domain") == "idle" for row in requests_run(DOMAINS).rows(parse_spec("ttl")))


def test_refreshes_are_counted_in_parts_too() -> None:
    whole, news, shop = refreshes_run(DOMAINS).rows(parse_spec("oracle"))
    assert whole == {"refreshes": 2, "updates": 2, "unfetched": 0, "mean_delay_s": 0.0, "max_delay_s": 0.0}
    assert (news["domain"], news["refreshes"], shop["domain"]) == ("news", 1, "shop")
    never = refreshes_run(DOMAINS).rows(parse_spec("never"))
    assert [row["mean_delay_s"] for row in never] == [None, None, None]


@pytest.mark.parametrize(
    ("run", "way"),
    [
        (requests_run(), {"cache": "client", "history": "complete", "through": "fast"}),
        (requests_run(wanted=Through.PLAIN), {"cache": "client", "history": "complete", "through": "plain"}),
        (requests_run(warm=Warm.NONE),
         {"cache": "client", "history": "observed", "warm": "none", "through": "fast"}),
        (requests_run(warm=Warm.NONE, tells_times=False),
         {"cache": "client", "history": "changed", "warm": "none", "through": "fast"}),
        (refreshes_run(), {"cache": None, "history": "complete", "through": "plain"}),
        (refreshes_run(warm=Warm.COMPLETE),
         {"cache": None, "history": "observed", "warm": "complete", "through": "plain"}),
    ],
)
def test_the_mode_of_the_replay_is_reported(run: Run, way: dict[str, str | None]) -> None:
    assert list(run.conditions(parse_spec("ttl")).items()) == list(way.items())
    assert run.history == way["history"]
    assert run.facts()["histories"].partition(":")[0] == run.history


@pytest.mark.parametrize("run", [requests_run(), requests_run(wanted=Through.PLAIN), refreshes_run()])
def test_progress_has_as_many_items_as_were_announced(run: Run) -> None:
    passed: list[object] = []
    policy = parse_spec("always" if isinstance(run, RequestRun) else "oracle")
    run.rows(policy, lambda items: (passed.append(item) or item for item in items))
    assert len(passed) == run.items(policy)


def test_each_run_has_an_identity_of_its_own() -> None:
    runs: list[Run] = [requests_run(), requests_run(DOMAINS), requests_run(wanted=Through.PLAIN), refreshes_run(),
                       refreshes_run(DOMAINS), refreshes_run(warm=Warm.NONE), requests_run(warm=Warm.NONE),
                       requests_run(warm=Warm.NONE, tells_times=False)]
    assert len({run.identity() for run in runs}) == len(runs)
    assert requests_run(DOMAINS).identity() == requests_run(DOMAINS).identity()
