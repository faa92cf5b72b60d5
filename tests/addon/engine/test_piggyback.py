"""Update histories that origins report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.piggyback import AT_MOST, ReportedUpdates, is_requested, read, written
from bestbefore.addon.rfc9111.message import Fields

NOW_S = 1_706_300_000.0


def reported(value: str) -> ReportedUpdates | None:
    return read(Fields([("update-history", value)]), NOW_S)


def test_the_example_of_the_design_is_read() -> None:
    expected = ReportedUpdates((1706227238.0, 1706230000.0), 1706140800.0)
    assert reported("1706227238, 1706230000;since=1706140800") == expected


@pytest.mark.parametrize(
    "value",
    ["", "1706227238", "1706227238;since=x", "1706230000, 1706227238;since=1", "5, 5;since=1", "-5;since=-9",
     "1706227238.5;since=1", "1706227238;since=1706227239", "1706227238;since=1, 1706230000", "(1 2);since=0",
     "99999999999;since=1", "?1;since=1", "1;since=?0", ", ".join(map(str, range(65))) + ";since=0", "\xff", '"a'],
)
def test_what_is_malformed_is_ignored_whole(value: str) -> None:
    assert reported(value) is None


def test_without_the_field_nothing_is_reported() -> None:
    assert read(Fields(), NOW_S) is None


@pytest.mark.parametrize(("value", "asks"), [("?1", True), ("?0", False), ("1", False), ("", False), ("?1;a", True)])
def test_only_a_true_boolean_asks(value: str, *, asks: bool) -> None:
    assert is_requested(Fields([("Want-Update-History", value)])) is asks
    assert not is_requested(Fields())


@given(st.lists(st.floats(1.0, NOW_S) | st.floats(1e9, 1e9 + 90.0), min_size=1, max_size=200))
def test_what_is_written_is_read_and_complete_from_its_since(times: list[float]) -> None:
    value = written(sorted(times), 0.5)
    assert value is not None
    told = reported(value)
    assert told is not None
    seconds = sorted({float(int(t)) for t in times})
    assert told.times_s == tuple(t for t in seconds if t >= told.since_s)
    assert len(told.times_s) == min(len(seconds), AT_MOST)


def test_two_updates_within_a_second_are_one() -> None:
    assert written([10.2, 10.7, 20.0], 3.9) == "10, 20;since=3"


def test_as_many_as_fit_are_complete_from_the_start_and_one_more_is_not() -> None:
    times = [float(n) for n in range(10, 10 + AT_MOST + 1)]
    for listed, since_s in ((times[:-1], 3), (times, 11)):
        value = written(listed, 3.0)
        assert value is not None
        assert value.endswith(f";since={since_s}")
        assert reported(value) == ReportedUpdates(tuple(listed[-AT_MOST:]), float(since_s))


def test_no_update_is_no_field() -> None:
    assert written([], 5.0) is None


@given(st.text(st.characters(max_codepoint=255)))
def test_no_value_raises(value: str) -> None:
    reported(value)
    is_requested(Fields([("want-update-history", value)]))
