import numpy as np
import pytest

from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates, least_staleness
from bestbefore.replay.papers.crawling import quasideterministic
from bestbefore.replay.papers.crawling.quasideterministic import MOST_POTENTIAL, quasideterministic_staleness


def test_a_page_is_fresh_when_each_potential_update_is_crawled() -> None:
    rare, usual, often = quasideterministic_staleness(np.array([0.3, 1.5, 1e4]))
    # one potential update at noon, on 3 days of 10
    assert rare[:3] == pytest.approx([0.15, 0.0, 0.0])
    # three with probability 1/2, at 1/6, 3/6 and 5/6
    assert usual[0] == pytest.approx((1 / 2 + 3 / 4) / 3 + (7 / 8) / 6)
    assert usual[1:3].min() > 0.0
    assert usual[3] == pytest.approx(0.0)
    assert often[MOST_POTENTIAL - 1] > 0.0


@pytest.mark.parametrize("at_once", [pytest.param(1, marks=pytest.mark.slow), 4_000_000])
def test_each_row_is_what_is_least_for_one_page(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(quasideterministic, "AT_ONCE", at_once)
    rates = np.random.default_rng(3).lognormal(0.0, 1.5, 40)
    for rate, row in zip(rates.tolist(), quasideterministic_staleness(rates), strict=True):
        number = min(max(int(np.ceil(2.0 * rate)), 1), MOST_POTENTIAL)
        times = (np.arange(number) + 0.5) / number
        one = PotentialUpdates.of(times, np.full(number, min(rate / number, 1.0)), 1.0)
        assert row[: number + 1] == pytest.approx(least_staleness(one, "interval"), abs=1e-14)
        assert not row[number + 1 :].any()
