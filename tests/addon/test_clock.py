from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.clock import Clock, FastClock, ManualClock, RealClock, clock_from_environment
from bestbefore.addon.errors import InputError


def from_text(text: str) -> Clock:
    return clock_from_environment({"BESTBEFORE_CLOCK": text})


def test_the_real_clock_reads_the_system_clock(tmp_path: Path) -> None:
    clock = RealClock()
    assert abs(clock.now() - tmp_path.stat().st_mtime) < 5
    assert clock.to_real_s(60) == 60


def test_the_monotonic_time_of_the_real_clock_never_goes_back() -> None:
    clock = RealClock()
    assert clock.monotonic() <= clock.monotonic()


def test_a_fast_clock_runs_by_its_factor_from_its_start() -> None:
    real = ManualClock(0)
    clock = FastClock(1000, 60, real.monotonic)
    assert clock.now() == 1000
    real.advance(2)
    assert clock.now() == 1120
    assert clock.monotonic() == 2


def test_a_fast_clock_does_not_jump_with_the_system_clock() -> None:
    real = ManualClock(0)
    clock = FastClock(1000, 60, real.monotonic)
    real.set(-1e9)
    assert clock.now() == 1000


def test_an_hour_of_policy_time_at_factor_3600_is_one_real_second() -> None:
    assert FastClock(0, 3600).to_real_s(3600) == 1


def test_a_manual_clock_moves_only_when_it_is_moved() -> None:
    clock = ManualClock(100)
    assert (clock.now(), clock.monotonic()) == (100, 0)
    clock.advance(5)
    assert (clock.now(), clock.monotonic()) == (105, 5)
    assert clock.to_real_s(7) == 7


def test_setting_a_manual_clock_back_leaves_its_monotonic_time() -> None:
    clock = ManualClock(100)
    clock.advance(5)
    clock.set(3)
    assert (clock.now(), clock.monotonic()) == (3, 5)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_manual_clock_refuses_to_advance_backwards(seconds: float) -> None:
    with pytest.raises(ValueError, match="cannot advance"):
        ManualClock(0).advance(seconds)


@pytest.mark.parametrize("environ", [{}, {"BESTBEFORE_CLOCK": ""}, {"BESTBEFORE_CLOCK": "  "}])
def test_without_the_variable_the_clock_is_real(environ: dict[str, str]) -> None:
    assert isinstance(clock_from_environment(environ), RealClock)


@pytest.mark.parametrize(
    ("text", "start_s", "factor"),
    [
        ("1706227238,60", 1706227238, 60),
        (" 0 , 1.5 ", 0, 1.5),
        ("2024-01-26T00:00:38Z,3600", 1706227238, 3600),
        ("2024-01-26T00:00:38,3600", 1706227238, 3600),
        ("2024-01-26T02:00:38+02:00,1", 1706227238, 1),
        ("2024-01-26T00:00:38,500,2", 1706227238.5, 2),
        ("2024-01-26,1e6", 1706227200, 1e6),
    ],
)
def test_the_variable_names_start_and_factor(text: str, start_s: float, factor: float) -> None:
    clock = from_text(text)
    assert isinstance(clock, FastClock)
    assert (clock.start_s, clock.factor) == (start_s, factor)


def test_a_fast_clock_may_start_now(tmp_path: Path) -> None:
    clock = from_text("now,60")
    assert isinstance(clock, FastClock)
    assert abs(clock.start_s - tmp_path.stat().st_mtime) < 5


@pytest.mark.parametrize(
    "text",
    [
        "1706227238", ",", "60,", ",60", "yesterday,60", "0,0", "0,0.99", "0,-1", "0,nan", "0,inf", "0,1e7", "nan,1",
        "-1,1", "1e12,1", "2024-13-01,1", "0001-01-01T00:00+23:59,1", "now,fast",
    ],
)
def test_a_malformed_variable_is_refused_with_its_value_and_what_was_expected(text: str) -> None:
    with pytest.raises(InputError, match="expected START,FACTOR") as error:
        from_text(text)
    assert f"BESTBEFORE_CLOCK={text!r}" in str(error.value)


@given(
    st.text(max_size=30)
    | st.builds(",".join, st.tuples(st.text("0123456789-:TZ+.en", max_size=25), st.text("0123456789.e-", max_size=6)))
)
@settings(max_examples=300, derandomize=True)
def test_any_text_gives_a_clock_or_a_plain_error(text: str) -> None:
    with suppress(InputError):
        assert from_text(text).now() >= 0
