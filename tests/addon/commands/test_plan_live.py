import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.prefetcher.outlook import LISTED, Fetch, Means, Outlook, Troubled
from bestbefore.addon.reports.plan import plan_text
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.opening import open_store
from bestbefore.policies.prefetch.online.estimate import ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.units import HOUR_S

NOW_S = 1706227238.0
PLAN = Outlook(
    made_s=NOW_S - 2, budget_per_day=5000.0, objective="delay", objects=2, shards=256, price=0.25,
    contacts_per_day=4700.0, expected=Means(0.9, 90.0, 300.0), measured=Means(0.875, None, 200.0), spent_today=31,
    proxies=2, workers=2,
    next=(
        Fetch("http://example.org/a b", NOW_S + 90, "changes once in 2 days"),
        Fetch("http://example.org/\x1b[2J", NOW_S + 7200, "changes 4 times a day"),
    ),
)


async def candidates_for(state: Path, number: int) -> None:
    store = await open_store("embedded", clock=RealClock(), state=state)
    now_s = RealClock().now()
    await store.planning.put_candidates({
        f"http://e.org/{i}": Candidate(0.25, now_s, 3, bytes([10] * 24), 0.25, (), now_s + 60.0 * i)
        for i in range(1, number + 1)
    })
    await store.close()


def test_the_next_fetches_are_shown_with_when_and_why_and_what_is_expected() -> None:
    assert plan_text(PLAN, NOW_S) == """\
schedule    of 2 objects in 2 proxies, as of 2024-01-26 00:00:36Z
due         at the index 0.25, for delay
budget      5000 fetches a day, 31 made in the last 24 hours; 4700 expected a day
expected    freshness 0.900, age 90s, delay 5m
measured    freshness 0.875, age unknown, delay 3.3m

time (UTC)            in      URL
2024-01-26 00:02:08Z  90s     http://example.org/a%20b
                              changes once in 2 days
2024-01-26 02:00:38Z  2h      http://example.org/%1B[2J
                              changes 4 times a day"""


def test_the_target_and_what_is_watched_are_shown() -> None:
    feeds = tuple(Troubled(f"http://example.org/{i}", "status 404", NOW_S - 60) for i in range(LISTED + 1))
    plan = replace(PLAN, target="delay 10m", target_per_day=6000.0, watched=50, troubled=feeds)
    lines = plan_text(plan, NOW_S).splitlines()
    assert lines[3] == "target      delay 10m takes 6000 fetches a day, more than the budget of 5000"
    assert lines[6:8] == [
        f"watched     50 objects; {LISTED + 1} of them could not be fetched",
        "            http://example.org/0: status 404, 60s ago",
    ]
    assert lines[6 + LISTED].endswith(f"/{LISTED - 1}: status 404, 60s ago")
    again = (Troubled("http://example.org/", "status 500", NOW_S - 60, 3, NOW_S + 1140),)
    assert "/: status 500, 3 times in a row, the last 60s ago; tried again in 19m" in plan_text(
        replace(plan, troubled=again), NOW_S
    )
    hopeless = replace(plan, target="freshness 0.99", target_best=0.97)
    assert "freshness 0.99 is out of reach: at best 0.970, with 6000 fetches a day" in plan_text(hopeless, NOW_S)
    assert "more than" not in plan_text(replace(plan, target_per_day=343.2), NOW_S)
    assert "watched     50 objects; all are well" in plan_text(replace(plan, troubled=()), NOW_S)


def test_the_workers_of_a_proxy_are_no_proxies_of_their_own() -> None:
    plan = replace(PLAN, proxies=1, workers=2, objects=1)
    assert plan_text(plan, NOW_S).startswith("schedule    of 1 object in 1 proxy with 2 workers, as of ")


def due_text(price: float | None) -> str:
    return plan_text(replace(PLAN, price=price), NOW_S).splitlines()[1]


def test_without_objects_there_is_no_index() -> None:
    assert due_text(None) == "due         at an index that is not known yet, for delay"


def test_a_budget_that_decides_nothing_is_said_to_be_ample_or_too_small() -> None:
    schedule = Schedule("delay", 1e9, 0.0)
    schedule.put(0, ScheduleEstimate(0.1, 0.0, longest_s=HOUR_S))
    schedule.set_price(0.0)
    assert due_text(schedule.price) == "due         whenever limits allow it, every 5m at most: the budget is ample"
    schedule.set_budget(1e-3, 0.0)
    assert "longest intervals" in due_text(schedule.price)
    schedule.set_budget(2.0, 0.0)
    assert due_text(schedule.price) == f"due         at the index {schedule.price:.4g}, for delay"


@pytest.mark.live
def test_what_is_stored_is_shown_where_no_proxy_runs(bestbefore, tmp_path: Path) -> None:
    asyncio.run(candidates_for(tmp_path, 40))
    status, out, err = bestbefore("plan", "--live", "--state", tmp_path)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "schedule    of 40 objects, as it is stored: no proxy on this store prefetches now"
    assert len(lines) == 3 + 2 * LISTED
    assert lines[3].endswith("http://e.org/1")
    assert lines[4].strip() == "changes 6 times a day, asked for 3 times in 8 days"
    status, out, _ = bestbefore("plan", "--live", "--json", "--state", tmp_path)
    plan = json.loads(out)
    assert (status, plan["proxies"], plan["objects"], len(plan["next"])) == (0, 0, 40, LISTED)
    assert plan["next"][0]["url"] == "http://e.org/1"


@pytest.mark.live
def test_without_candidates_it_says_why(bestbefore, filled: Path, tmp_path: Path) -> None:
    assert bestbefore("plan", "--live", "--state", filled) == (
        1, "",
        "bestbefore: nothing is scheduled: prefetching is not enabled (--config should be that of the proxy)\n",
    )
    config = tmp_path / "proxy.toml"
    config.write_text("[prefetch]\nenabled = true\n")
    assert bestbefore("plan", "--live", "--state", filled, "--config", config) == (
        1, "", "bestbefore: nothing is scheduled: no object was requested twice\n"
    )


def test_what_is_for_a_file_is_not_for_a_store(bestbefore) -> None:
    status, out, err = bestbefore("plan", "--live", "--budget", "5")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "No such option '--budget'" in err


def test_a_folder_without_a_store_is_wrong_input(bestbefore, tmp_path: Path) -> None:
    status, _, err = bestbefore("plan", "--live", "--state", tmp_path)
    assert status == 2
    assert err == f"bestbefore: {tmp_path}: there is no store in this state folder: no proxy has run with it\n"
