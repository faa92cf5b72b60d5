import asyncio
import json
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.commands.plan_live import LISTED, plan_text
from bestbefore.addon.prefetcher.outlook import Fetch, Outlook
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.plan import Job, Plan

NOW_S = 1706227238.0
PLAN = Outlook(
    made_s=NOW_S - 1200, until_s=NOW_S + 86_400, budget_per_day=5000.0, objective="delay", objects=2, planned=7,
    spent_today=31,
    next=(
        Fetch("http://example.org/a b", NOW_S + 90, 0.1234, "changes once in 2 days"),
        Fetch("http://example.org/\x1b[2J", NOW_S + 7200, 12.3, "changes 4 times a day"),
        Fetch("http://example.org/a b", NOW_S + 86_400, 0.5, "changes once in 2 days"),
    ),
)


async def plan_for(state: Path, jobs: int) -> None:
    store = await open_store("embedded", clock=RealClock(), state=state)
    now_s = RealClock().now()
    planned = tuple(Job(f"http://e.org/{i}", now_s + 60.0 * i, 0.5, 4.0, 0.25, 0.5) for i in range(-3, jobs - 3))
    await store.planning.put_plan(Plan(now_s - 600.0, now_s + 86_400.0, 100.0, "delay", 3, planned))
    await store.close()


def test_the_next_fetches_are_shown_with_when_why_and_what_for() -> None:
    assert plan_text(PLAN, NOW_S) == """\
made        2024-01-25 23:40:38Z, 20m ago, of 2 objects; reaches to 2024-01-27 00:00:38Z
budget      5000 fetches a day, 31 made in the last 24 hours; for delay
to come     7 fetches, the next ones:

time (UTC)            in      spares  URL
2024-01-26 00:02:08Z  90s       0.12  http://example.org/a%20b
                                      changes once in 2 days
2024-01-26 02:00:38Z  2h          12  http://example.org/%1B[2J
                                      changes 4 times a day
2024-01-27 00:00:38Z  24h        0.5  http://example.org/a%20b"""


def test_a_plan_without_further_fetches_is_reported() -> None:
    assert plan_text(Outlook(NOW_S, NOW_S, 5.0, "age", 0, 0, 0, ()), NOW_S).endswith("to come     0 fetches")


@pytest.mark.live
def test_the_plan_of_a_store_is_shown_from_now_on(bestbefore, tmp_path: Path) -> None:
    asyncio.run(plan_for(tmp_path, 40))
    status, out, err = bestbefore("plan", "--live", "--state", tmp_path)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[1] == "budget      100 fetches a day, 0 made in the last 24 hours; for delay"
    assert lines[2] == "to come     36 fetches, the next ones:"
    assert len(lines) == 5 + 2 * LISTED
    assert lines[5].endswith("http://e.org/1")
    assert lines[6].strip() == "changes 6 times a day, asked for 12 times a day: for delay fetched 4 times a day"
    status, out, _ = bestbefore("plan", "--live", "--json", "--state", tmp_path)
    plan = json.loads(out)
    assert (status, plan["planned"], plan["objects"], len(plan["next"])) == (0, 36, 3, LISTED)
    assert plan["next"][0]["url"] == "http://e.org/1"


@pytest.mark.live
def test_without_a_plan_it_says_why(bestbefore, filled: Path, tmp_path: Path) -> None:
    assert bestbefore("plan", "--live", "--state", filled) == (
        1, "", "bestbefore: there is no plan: prefetching is not enabled (--config should be that of the proxy)\n"
    )
    config = tmp_path / "proxy.toml"
    config.write_text("[prefetch]\nenabled = true\n")
    assert bestbefore("plan", "--live", "--state", filled, "--config", config) == (
        1, "", "bestbefore: there is no plan\n"
    )


def test_what_is_for_a_file_is_not_for_a_store(bestbefore) -> None:
    status, out, err = bestbefore("plan", "--live", "--budget", "5")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "No such option '--budget'" in err


def test_a_folder_without_a_store_is_wrong_input(bestbefore, tmp_path: Path) -> None:
    status, _, err = bestbefore("plan", "--live", "--state", tmp_path)
    assert status == 2
    assert err == f"bestbefore: {tmp_path}: there is no store in this state folder: no proxy has run with it\n"
