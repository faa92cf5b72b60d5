import math

import pytest

from bestbefore.policies.prefetch.allocation.root import falling_root


def test_a_straight_line_is_solved_in_two_steps() -> None:
    asked: list[float] = []

    def line(x: float) -> float:
        asked.append(x)
        return 3.0 - x

    root = falling_root(line, 0.0, -0.5, 1e-12)
    assert root.low == root.high == 3.0
    assert asked == [0.0, 6.0, 3.0]


def test_a_jump_is_enclosed_by_neighbouring_floats_and_evaluated_last_above_it() -> None:
    asked: list[float] = []

    def jump(x: float) -> float:
        asked.append(x)
        return 1.0 if x < 0.7 else -2.0

    root = falling_root(jump, 0.0, -1.0, 1e-12)
    assert (root.high, root.low_value, root.high_value) == (0.7, 1.0, -2.0)
    assert root.low == math.nextafter(0.7, 0.0)
    assert asked[-1] == 0.7


@pytest.mark.parametrize("guess", [-40.0, 0.0, 1.9, 2.0])
def test_a_steep_and_curved_function_is_solved_from_anywhere(guess: float) -> None:
    root = falling_root(lambda x: -math.atan(20.0 * (x - 1.0)), guess, -0.5, 1e-12, 2.0)
    assert root.low == pytest.approx(1.0, abs=1e-12)


def test_what_is_still_positive_at_the_most_ends_there() -> None:
    assert falling_root(lambda x: 5.0 - x, 0.0, -1.0, 1e-12, 4.0)[:2] == (4.0, 4.0)


def test_two_guesses_that_enclose_a_jump_leave_nothing_to_do() -> None:
    asked: list[float] = []

    def jump(x: float) -> float:
        asked.append(x)
        return 1.0 if x < 0.7 else -2.0

    root = falling_root(jump, math.nextafter(0.7, 0.0), -1.0, 1e-12, second_guess=0.7)
    assert root[:2] == (math.nextafter(0.7, 0.0), 0.7)
    assert len(asked) == 2


def test_two_guesses_beside_a_jump_are_left_behind() -> None:
    for start in (0.7 + 1e-15, 0.7 - 1e-15):
        above = math.nextafter(start, 1.0)
        root = falling_root(lambda x: 1.0 if x < 0.7 else -2.0, start, -1.0, 1e-12, second_guess=above)
        assert root[:2] == (math.nextafter(0.7, 0.0), 0.7)


def test_the_root_beyond_a_stretch_without_slope_is_found() -> None:
    asked: list[float] = []

    def flat(x: float) -> float:
        asked.append(x)
        return max(-2e-3, -100.0 - x)

    root = falling_root(flat, 0.0, -0.5, 1e-4, 200.0, least=-200.0)
    assert root.low == pytest.approx(-100.0, abs=1e-3)
    assert len(asked) < 80
