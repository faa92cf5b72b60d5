import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.machinery.verdict import Verdict


def test_a_copy_expires_at_the_very_moment_of_the_next_update() -> None:
    history = History.of([100.0, 600.0, 2000.0], 0.0)
    assert Oracle().verdict(history, None, 500.0) == Verdict(600.0, "oracle")
    assert Oracle().verdict(history, None, 600.0).expiry_s == 2000.0


def test_without_another_update_it_never_expires() -> None:
    assert Oracle().verdict(History.of([100.0], 0.0), None, 100.0).expiry_s == math.inf
    assert Oracle().verdict(History.of([], 0.0), None, 100.0).expiry_s == math.inf


@given(st.lists(st.integers(0, 50).map(float)), st.integers(0, 50), st.integers(0, 50))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_later_request_is_a_hit_exactly_if_the_object_has_not_changed(times: list[float], t: int, after: int) -> None:
    r = t + after
    is_hit = r < Oracle().verdict(History.of(times, 0.0), None, t).expiry_s
    assert is_hit == (not any(t < u <= r for u in times))
