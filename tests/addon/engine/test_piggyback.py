"""Update histories that origins report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.piggyback import (
    AT_MOST,
    GroupPattern,
    ReportedUpdates,
    is_requested,
    pattern_written,
    read,
    written,
)
from bestbefore.addon.engine.update import TimeSpan, Update
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.policies.models.group import Group

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


def exact(*times_s: float) -> list[Update]:
    return [Update(t, t) for t in times_s]


@given(st.lists(st.floats(1.0, NOW_S) | st.floats(1e9, 1e9 + 90.0), min_size=1, max_size=200))
def test_what_is_written_is_read_and_complete_from_its_since(times: list[float]) -> None:
    told = reported(written(exact(*sorted(times)), 0.5, ()))
    assert told is not None
    seconds = sorted({float(int(t)) for t in times})
    assert told.times_s == tuple(t for t in seconds if t >= told.since_s)
    assert len(told.times_s) == min(len(seconds), AT_MOST)
    assert (told.within, told.unseen) == ((), ())


type Spans = list[tuple[float, float]]
SPANS = st.tuples(st.floats(1.0, NOW_S - 1.0), st.floats(0.0, 5000.0)).map(lambda s: (s[0], min(sum(s), NOW_S)))


@given(st.lists(SPANS, max_size=100), st.lists(SPANS, max_size=5, unique_by=lambda gap: int(gap[1])))
def test_no_update_lies_outside_of_what_is_told(spans: Spans, gaps: Spans) -> None:
    """Each update lies in its interval or at its time, to the second; times with further ones before them say so."""
    updates = sorted([*(Update(*span) for span in spans), *exact(*(by_s for _, by_s in gaps))], key=lambda u: u.point_s)
    told = reported(written(updates, 0.0, [TimeSpan(*gap) for gap in gaps]))
    assert told is not None
    for update in updates:
        if update.by_s < told.since_s:
            continue
        at = any(abs(t - update.by_s) <= 1.0 for t in told.times_s)
        assert at or any(s.after_s <= update.after_s + 1.0 and update.by_s <= s.by_s + 1.0 for s in told.within)
    for after_s, by_s in gaps:
        if by_s - after_s >= 1.0 and int(by_s) > told.since_s:
            assert any(s.after_s <= after_s and s.by_s == int(by_s) for s in told.unseen)


def test_two_updates_within_a_second_are_one() -> None:
    assert written(exact(10.2, 10.7, 20.0), 3.9, ()) == "10, 20;since=3"


def test_as_many_as_fit_are_complete_from_the_start_and_one_more_is_not() -> None:
    times = [float(n) for n in range(10, 10 + AT_MOST + 1)]
    for listed, since_s in ((times[:-1], 3), (times, 11)):
        value = written(exact(*listed), 3.0, ())
        assert value.endswith(f";since={since_s}")
        assert reported(value) == ReportedUpdates(tuple(listed[-AT_MOST:]), float(since_s))


def test_an_update_seen_by_two_contacts_is_an_interval_and_not_its_middle() -> None:
    value = written([Update(10.5, 20.5), Update(30.0, 30.0)], 3.9, ())
    assert value == "21;after=10, 30;since=3"
    assert reported(value) == ReportedUpdates((30.0,), 3.0, within=(TimeSpan(10.0, 21.0),))


def test_where_updates_may_have_been_missed_is_told() -> None:
    value = written(exact(20.0, 30.0), 3.0, [TimeSpan(25.5, 30.0)])
    assert value == "20, 30;unseen=25;since=3"
    assert reported(value) == ReportedUpdates((20.0, 30.0), 3.0, unseen=(TimeSpan(25.0, 30.0),))


def test_of_a_record_that_did_not_keep_it_any_time_between_updates_may_hide_some() -> None:
    assert written(exact(20.0, 30.0), 3.0, None) == "20;unseen=3, 30;unseen=20;since=3"


def test_that_nothing_is_known_since_a_time_is_told() -> None:
    assert written([], 5.0, ()) == "none;since=5"
    assert reported("none;since=5") == ReportedUpdates((), 5.0)
    assert reported('"none";since=5') is None


def test_unknown_parameters_are_ignored_and_malformed_ones_are_not() -> None:
    assert reported("20;x=1;since=3;y") == ReportedUpdates((20.0,), 3.0)
    for wrong in ("20;after=20;since=3", "20;after=x;since=3", "20;unseen=21;since=3", "20;unseen;since=3"):
        assert reported(wrong) is None


def test_the_end_of_an_interval_may_be_rounded_up_to_the_second() -> None:
    now = int(NOW_S)
    assert reported(f"{now + 1};after={now - 9};since=3") == ReportedUpdates((), 3.0, (TimeSpan(now - 9.0, NOW_S),))
    assert reported(f"{now + 2};since=3") is None


DAY_S = 86_400.0
COUNTS = tuple(range(24))


def told(value: str) -> GroupPattern | None:
    found = read(Fields([("update-history", "none;since=5"), ("update-pattern", value)]), NOW_S)
    assert found is not None
    return found.pattern


def test_the_pattern_of_a_group_is_told_and_gives_the_same_group() -> None:
    pattern = GroupPattern(COUNTS, 7, 3)
    t_s = 100 * DAY_S + 5.0
    group = pattern.group(t_s)
    assert group.counts(t_s - 28 * DAY_S, t_s) == list(COUNTS)
    assert group.members(t_s) == 3
    assert group.since_s == 93 * DAY_S
    value = pattern_written(group, t_s)
    assert value == f"{', '.join(map(str, COUNTS))};days=7;members=3"
    assert told(value) == pattern


def test_of_a_group_that_nothing_is_known_of_there_is_no_pattern() -> None:
    assert pattern_written(Group.of_hours({}, {}), 100 * DAY_S) is None
    assert pattern_written(Group.of_hours({}, {48: 1}), 100 * DAY_S) is None
    assert pattern_written(Group.of_hours({2400: 1}, {2399: 1}), 100 * DAY_S + 60.0) is None


GOOD = ", ".join(map(str, COUNTS))


@pytest.mark.parametrize("value", [
    "", "1;days=7;members=3", GOOD, f"{GOOD};days=0;members=3", f"{GOOD};days=29;members=3", f"{GOOD};days=7;members=0",
    f"{GOOD};days=7", f"-1, {GOOD[3:]};days=7;members=3", f"{GOOD}, 1;days=7;members=3", '"',
    f"{GOOD};days=7;members=?1",
])  # fmt: skip
def test_a_malformed_pattern_is_ignored_and_the_history_is_not(value: str) -> None:
    assert told(value) is None


@given(st.text(st.characters(max_codepoint=255)))
def test_no_value_raises(value: str) -> None:
    reported(value)
    told(value)
    is_requested(Fields([("want-update-history", value)]))
