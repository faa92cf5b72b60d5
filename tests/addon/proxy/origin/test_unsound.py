"""Origins whose connections carry one exchange each."""

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.origin.unsound import UNSOUND_S, UnsoundOrigins


def test_an_origin_is_distrusted_for_an_hour() -> None:
    clock = ManualClock(0.0)
    origins = UnsoundOrigins(clock.monotonic)
    origins.add("a")
    assert ("a" in origins, "b" in origins) == (True, False)
    clock.advance(UNSOUND_S - 1)
    assert "a" in origins
    clock.advance(2)
    assert "a" not in origins
