"""Origins whose connections carry one exchange each."""

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.origin.unsound import REPEATED_S, UNSOUND_S, UnsoundOrigins


def test_an_origin_is_distrusted_for_an_hour() -> None:
    clock = ManualClock(0.0)
    origins = UnsoundOrigins(clock.monotonic)
    origins.add("a")
    assert ("a" in origins, "b" in origins) == (True, False)
    clock.advance(UNSOUND_S - 1)
    assert "a" in origins
    clock.advance(2)
    assert "a" not in origins


def test_an_origin_that_goes_on_is_passed_on_once_a_minute() -> None:
    """The supervisor keeps each announcement, of 2 KB: 9 MB an hour at one a second."""
    clock, passed = ManualClock(0.0), list[object]()
    origins = UnsoundOrigins(clock.monotonic, passed.append)
    for _ in range(121):
        origins.add("a")
        clock.advance(REPEATED_S / 60)
    assert len(passed) == 3
    clock.advance(UNSOUND_S - REPEATED_S)
    assert "a" in origins
