import numpy as np

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.plain_engine import replay_objects
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.simulate.sites import ReplayedSites
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0
HOUR = 3600.0


def scenario(warm: Warm | None = None, *, apart: bool = False, tells_times: bool = True) -> Scenario:
    """Two pages that change together each day (`apart`: b six hours later) and are requested one and two hours later.

    For 20 days, the second page not on the tenth, the first of the test.
    """
    days = np.arange(1, 21) * DAY
    updates = np.concatenate([days, days + (6 * HOUR if apart else 0.0)])
    requests = np.concatenate([days + HOUR, days[days != 10 * DAY] + 2 * HOUR])
    order, ids = np.argsort(updates, kind="stable"), np.repeat(np.array([0, 1], dtype=np.int32), 20)
    asked = np.argsort(requests, kind="stable")
    return Scenario.of(
        Updates.of(updates[order], ids[order], ("x/a", "x/b")),
        Requests.of(requests[asked], np.zeros(39, dtype=np.int32), ids[asked], ("me",), ("x/a", "x/b")),
        origin_s=0.0,
        test_start_s=10 * DAY,
        grouping=Grouping.DOMAIN,
        warm=warm,
        tells_times=tells_times,
        warn=lambda _: None,
    )


def test_a_page_found_changed_makes_the_next_request_of_its_sibling_a_validation() -> None:
    # The policy alone validates a on even days and b on odd ones; on day 12 a is found changed, and b follows it.
    alone, together = (
        replay_objects(scenario(Warm.CONTACTS), parse_spec(f"fixed:interval=36h,siblings={chance}"))["x/b"]
        for chance in (1.0, 0.02)
    )
    assert alone == Counts(misses=1, hits=5, stale_hits=5, validations=4, unnecessary=0)
    assert together == Counts(misses=1, hits=4, stale_hits=4, validations=5, unnecessary=0)


def test_without_last_modified_nothing_is_learnt() -> None:
    alone, together = (
        replay_objects(scenario(Warm.CONTACTS, tells_times=False), parse_spec(f"fixed:interval=36h,siblings={chance}"))
        for chance in (1.0, 0.1)
    )
    assert alone == together


def test_contacts_before_the_test_start_are_learnt_from() -> None:
    together, apart = (ReplayedSites.at_test_start(scenario(Warm.CONTACTS, apart=apart)) for apart in (False, True))
    for sites in (together, apart):
        sites.contact("x/a", 10 * DAY + HOUR)
    assert together.outdated("x/b", 9 * DAY + 2 * HOUR, 0.5)
    assert not apart.outdated("x/b", 9 * DAY + 2 * HOUR, 0.1)
