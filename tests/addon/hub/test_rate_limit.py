"""A limit of bytes a second."""

from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.hub.rate_limit import RateLimit


def test_a_message_waits_for_those_before_it() -> None:
    limit = RateLimit(100.0, burst_s=1.0)
    assert limit.wait_s(10.0) == 0.0
    limit.sent(300, 10.0)  # one second of silence is made up for
    assert limit.wait_s(10.0) == 2.0
    assert limit.wait_s(12.0) == 0.0


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=50), rate=st.integers(1, 1000))
def test_the_mean_rate_is_kept(sizes: list[int], rate: int) -> None:
    limit, now_s = RateLimit(rate), 0.0
    for size in sizes:
        now_s += limit.wait_s(now_s)
        limit.sent(size, now_s)
    assert sum(sizes[:-1]) <= rate * (now_s + 1.0) + 1e-6
