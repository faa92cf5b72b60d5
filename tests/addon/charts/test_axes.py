import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.charts.axes import Axis, number_shown


def test_values_of_one_magnitude_have_a_linear_axis_from_0() -> None:
    """The largest value, 100, is followed by a margin of 6 %."""
    axis = Axis.of([20.0, 100.0], 0.0, 106.0)
    assert not axis.logarithmic
    assert [axis.at(value) for value in (0.0, 20.0, 100.0)] == pytest.approx([0.0, 20.0, 100.0])
    assert axis.ticks(5) == [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]


def test_values_of_several_magnitudes_have_a_logarithmic_axis() -> None:
    axis = Axis.of([1.0, 10.0, 100.0], 0.0, 560.0)
    assert axis.logarithmic
    assert [axis.at(value) for value in (1.0, 10.0, 100.0)] == pytest.approx([30.0, 280.0, 530.0])
    assert axis.ticks(9) == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    assert axis.ticks(3) == [1.0, 10.0, 100.0]
    assert axis.break_px is None


def test_values_that_differ_by_a_factor_of_10_have_a_logarithmic_axis() -> None:
    assert Axis.of([2.0, 20.0], 0.0, 100.0).logarithmic
    assert not Axis.of([2.0, 19.9], 0.0, 100.0).logarithmic


def test_0_has_a_place_of_its_own_on_a_logarithmic_axis() -> None:
    axis = Axis.of([0.0, 1.0, 100.0], 0.0, 600.0)
    assert axis.break_px is not None
    assert 0.0 < axis.at(0.0) < axis.break_px < axis.at(1.0)
    assert axis.ticks(3) == [0.0, 1.0, 10.0, 100.0]


def test_ticks_can_be_round_in_another_unit() -> None:
    """On an axis of counts up to 60, where 400 is the whole, in per cent."""
    axis = Axis.of([30.0, 60.0], 0.0, 100.0)
    assert [value / 400.0 for value in axis.ticks(4, 4.0)] == [0.0, 0.05, 0.1, 0.15]


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(2, 12), st.floats(0.001, 1000.0))
def test_everything_lies_in_order_on_the_axis(counts: list[int], most: int, unit: float) -> None:
    axis = Axis.of(map(float, counts), 500.0, 20.0)
    places = [axis.at(value) for value in sorted(set(map(float, counts)))]
    assert all(20.0 <= place <= 500.0 for place in places)
    assert places == sorted(places, reverse=True)
    assert len(set(places)) == len(places)
    ticks = axis.ticks(most, unit)
    assert len(ticks) <= most + 1
    assert all(19.9 <= axis.at(tick) <= 500.1 for tick in ticks)
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0], [7.0]])
def test_few_values_have_an_axis_too(values: list[float]) -> None:
    assert Axis.of(values, 0.0, 100.0).ticks(5)[0] == 0.0


def test_numbers_are_written_as_people_read_them() -> None:
    assert [number_shown(value) for value in (0.0, 0.05, 0.6000000000000001, 750.0, 20000.0, 2.5e6)] == [
        "0", "0.05", "0.6", "750", "20,000", "2.5M",
    ]
