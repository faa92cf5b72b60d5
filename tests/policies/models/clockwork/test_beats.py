"""The moments after the beats of an object, and the text that describes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.models.clockwork.beats import (
    PUBLISHED_S,
    WEEK_S,
    ClockBeat,
    Clockwork,
    described,
    is_valid,
    last_moment_s,
    moments,
    shifted,
)
from bestbefore.policies.units import DAY_S, HOUR_S

NINE = Clockwork(DAY_S, (ClockBeat(9 * HOUR_S, 9 * HOUR_S + 60.0, 1.0),), 1.0)


def test_a_moment_follows_the_end_of_each_beat() -> None:
    noon_s = 19_000 * DAY_S + 12 * HOUR_S
    found = [moment.at_s for moment in moments(NINE, noon_s, 3)]
    assert found == [noon_s + k * DAY_S + 21 * HOUR_S + 60.0 + PUBLISHED_S for k in range(3)]


def test_beats_are_shifted_around_the_period() -> None:
    hourly = Clockwork(HOUR_S, (ClockBeat(60.0, 90.0, 0.5), ClockBeat(3500.0, 3700.0, 0.5)), 1.0)
    later = shifted(hourly, 600.0)
    assert later.beats == (ClockBeat(500.0, 700.0, 0.5), ClockBeat(660.0, 690.0, 0.5))
    assert is_valid(later)
    assert shifted(later, -600.0) == hourly


@given(
    after_s=st.floats(0.0, 2e9),
    number=st.integers(1, 40),
    period_s=st.sampled_from([HOUR_S, DAY_S, WEEK_S]),
    starts=st.lists(st.floats(0.0, 0.99), min_size=1, max_size=4, unique=True),
)
def test_moments_ascend_and_repeat_after_a_period(
    after_s: float, number: int, period_s: float, starts: list[float]
) -> None:
    beats = tuple(ClockBeat(s * period_s, s * period_s + 0.01 * period_s, 1.0 / len(starts)) for s in sorted(starts))
    found = moments(Clockwork(period_s, beats, 1.0), after_s, number + len(beats))
    assert len(found) == number + len(beats)
    assert after_s < found[0].at_s
    assert found == sorted(found)
    last_s = last_moment_s(Clockwork(period_s, beats, 1.0), after_s)
    assert last_s <= after_s
    assert found[len(beats) - 1].at_s - last_s == pytest.approx(period_s, abs=1e-3)
    for one, later in zip(found, found[len(beats) :], strict=False):
        assert later.at_s - one.at_s == pytest.approx(period_s, abs=1e-3)


@pytest.mark.parametrize(
    ("clockwork", "text"),
    [
        (NINE, "daily at about 09:00 UTC"),
        (Clockwork(HOUR_S, (ClockBeat(590.0, 610.0, 1.0),), 1.0), "hourly at about minute 10"),
        (Clockwork(WEEK_S, (ClockBeat(5 * DAY_S, 5 * DAY_S + 9.0, 1.0),), 1.0), "weekly at about Tuesday 00:00 UTC"),
        (
            Clockwork(DAY_S, (ClockBeat(8 * HOUR_S, 8 * HOUR_S, 0.5), ClockBeat(DAY_S - 60.0, DAY_S + 60.0, 0.5)), 1.0),
            "daily at about 00:00 and 08:00 UTC",
        ),
    ],
)
def test_the_moments_are_described(clockwork: Clockwork, text: str) -> None:
    assert described(clockwork) == text
