"""The detection of clockwork: what was generated is found, and nothing else."""

import numpy as np
import pytest

from bestbefore.policies.models.clockwork.beats import WEEK_S
from bestbefore.policies.models.clockwork.detection import LEAST_UPDATES, find_clockwork
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

START_S = 1_700_006_400.0  # a midnight


def _every(period_s: float, phase_s: float, jitter_s: float, periods: int, chance: float = 1.0) -> FloatArray:
    rng = np.random.default_rng(periods)
    at = np.flatnonzero(rng.random(periods) < chance)
    first_s = START_S - START_S % period_s
    return np.sort(first_s + at * period_s + phase_s + jitter_s * rng.random(at.size))


@pytest.mark.parametrize(
    ("period_s", "phase_s", "jitter_s", "periods", "chance"),
    [
        (HOUR_S, 1200.0, 60.0, 60, 1.0),
        (HOUR_S, 1200.0, 60.0, 2000, 0.05),
        (DAY_S, 32_700.0, 120.0, 30, 1.0),
        (DAY_S, 32_700.0, 400.0, 80, 0.4),
        (DAY_S, DAY_S - 30.0, 60.0, 30, 1.0),
        (WEEK_S, 2.4 * DAY_S, 3600.0, 30, 0.9),
    ],
)
def test_a_beat_is_found_whatever_its_jitter_and_however_often_it_is_missed(
    period_s: float, phase_s: float, jitter_s: float, periods: int, chance: float
) -> None:
    found = find_clockwork(_every(period_s, phase_s, jitter_s, periods, chance))
    assert found is not None
    assert found.period_s == period_s
    assert found.share > 0.9
    (beat,) = found.beats
    assert 0.0 <= (beat.from_s - phase_s) % period_s <= jitter_s
    assert beat.until_s - beat.from_s <= 3.0 * jitter_s


def test_two_beats_a_day_share_the_updates() -> None:
    times_s = np.sort(np.concatenate([_every(DAY_S, 8 * HOUR_S, 100.0, 30), _every(DAY_S, 20 * HOUR_S, 100.0, 30)]))
    found = find_clockwork(times_s)
    assert found is not None
    assert found.period_s == DAY_S
    assert [round(beat.from_s / HOUR_S) for beat in found.beats] == [8, 20]
    assert sum(beat.share for beat in found.beats) == pytest.approx(1.0)


def test_a_beat_ends_with_its_bursts() -> None:
    first_s = _every(DAY_S, 9 * HOUR_S, 0.0, 30)
    found = find_clockwork(np.sort(np.concatenate([first_s, first_s + 200.0])))
    assert found is not None
    assert 200.0 < found.beats[0].until_s - found.beats[0].from_s < 600.0


@pytest.mark.parametrize("seed", range(20))
def test_neither_a_poisson_process_nor_office_hours_are_clockwork(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert find_clockwork(START_S + np.cumsum(rng.exponential(7 * HOUR_S, 80))) is None
    hours = np.sort(rng.choice(9 * 60, 60)) * 9 * 60.0  # 60 days from 9 to 18 o'clock
    office_s = START_S + np.arange(60) * DAY_S + 9 * HOUR_S + rng.permutation(hours) / 9
    assert find_clockwork(np.sort(office_s)) is None


def test_what_has_stopped_to_be_regular_is_no_clockwork() -> None:
    rng = np.random.default_rng(1)
    regular_s = _every(DAY_S, 9 * HOUR_S, 60.0, 40)
    assert find_clockwork(regular_s) is not None
    assert find_clockwork(np.concatenate([regular_s, regular_s[-1] + np.cumsum(rng.exponential(DAY_S, 20))])) is None


def test_a_beat_ends_before_the_few_updates_that_are_late() -> None:
    times_s = _every(DAY_S, 9 * HOUR_S, 60.0, 40)
    times_s[[15, 30]] += 2.4 * HOUR_S
    found = find_clockwork(times_s)
    assert found is not None
    (beat,) = found.beats
    assert beat.until_s - beat.from_s <= 60.0
    assert found.share == pytest.approx(28.5 / 31)


@pytest.mark.parametrize("updates", [0, 1, LEAST_UPDATES - 1])
def test_a_few_updates_show_nothing(updates: int) -> None:
    assert find_clockwork(_every(DAY_S, 9 * HOUR_S, 60.0, updates)) is None


def test_one_burst_is_no_beat() -> None:
    assert find_clockwork(START_S + np.arange(100) * 20.0) is None
