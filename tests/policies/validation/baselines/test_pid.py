import math

import numpy as np
import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.pid import Pid
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.verdict import Verdict

HOUR = 3600.0
DAY = 86400.0
UNKNOWN = History.of([], 0.0)


def interval_s(policy: Pid, state: float, *, changed: bool) -> float:
    return policy.verdict(UNKNOWN, None, 5.0, ContactOutcome(state, changed)).expiry_s - 5.0


def test_the_first_interval_is_an_hour() -> None:
    assert Pid().verdict(UNKNOWN, None, 5.0) == Verdict(5.0 + HOUR, "pid", HOUR)


def test_it_grows_where_nothing_was_new_and_else_shrinks_by_what_the_wanted_share_says() -> None:
    assert interval_s(Pid(), HOUR, changed=False) == pytest.approx(HOUR * math.exp(0.25))
    assert interval_s(Pid(), HOUR, changed=True) == pytest.approx(HOUR * math.exp(-0.25))
    assert interval_s(Pid(share=0.9), HOUR, changed=False) == pytest.approx(HOUR * math.exp(0.05))
    assert interval_s(Pid(share=0.9), HOUR, changed=True) == pytest.approx(HOUR * math.exp(-0.45))


def test_it_is_kept_between_a_minute_and_a_day() -> None:
    assert interval_s(Pid(), 61.0, changed=True) == 60.0
    assert interval_s(Pid(), 23 * HOUR, changed=False) == DAY


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_of_many_contacts_the_wanted_share_finds_nothing_new(share: float) -> None:
    updates = np.cumsum(np.random.default_rng(3).exponential(HOUR, 20_000))
    policy, t, before, unchanged, contacts, outcome = Pid(share=share), 0.0, 0, 0, 0, None
    while t < updates[-1]:
        verdict = policy.verdict(UNKNOWN, None, t, outcome)
        assert verdict.state is not None
        t = verdict.expiry_s
        seen = int(updates.searchsorted(t, side="right"))
        outcome = ContactOutcome(verdict.state, changed=seen > before)
        unchanged, contacts, before = unchanged + (seen == before), contacts + 1, seen
    assert unchanged / contacts == pytest.approx(share, abs=0.01)


def test_the_share_is_one() -> None:
    with pytest.raises(ValueError, match=r"share must be a number from 0 to 1, not 1\.5"):
        Pid(share=1.5)
