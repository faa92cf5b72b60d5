from small_cases import SHARED, compared, outcome

from bestbefore.replay.evaluation import tables
from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.simulate.scenario import Cache

FOUND = compared(outcome(1, 0.2, 0.3), outcome(2, 0.2, 0.1))


def test_policies_have_a_row_each_unless_they_reach_no_rate() -> None:
    heads, rows = tables.of_policies(FOUND, "own", SHARED, ends=False)
    assert heads == ["policy", "1 %", "2 %"]
    assert rows == [
        ["ttl:alpha", "1.00", "1.00"], ["squid:percent", "0.87", "0.43"], ["oracle", "0.25", "0.25"],
        ["offline bound", "0.20", "0.15"],
    ]
    assert tables.of_policies(FOUND, "own", SHARED)[1][1][1] == "0.87 (0.50 to 1.50)"


def test_each_case_is_listed() -> None:
    _, rows = tables.of_cases(FOUND, Cache.SHARED)
    assert rows == [["own: seed 1", "1,000", "1.50", "0.75"], ["own: seed 2", "1,000", "0.50", "0.25"]]


def test_losses_are_listed_up_to_a_number() -> None:
    (_, rows), n = tables.of_losses(FOUND, 1.02, 5)
    assert (n, rows) == (1, [["own: seed 1", "one shared cache, complete histories", "1 %", "1.50"]])
    assert tables.of_losses(FOUND, 1.02, 0) == ((tables.of_losses(FOUND, 9.0, 5)[0][0], []), 1)


def test_references_and_kinds_have_rows_for_each_place() -> None:
    assert [row[1] for row in tables.of_references(FOUND, "own")[1]] == [
        "the best of the five", "fixed", "the oracle", "the offline bound",
    ]
    assert [row[1:3] for row in tables.of_kinds(FOUND, "own")[1]] == [
        ["bursty", "–"], ["cyclic", "–"], ["mixed", "0.87 (0.50 to 1.50)"],
    ]


def test_the_first_day_is_shown_where_it_was_replayed() -> None:
    assert not tables.has_first_day(FOUND)
    day = compared(outcome(1, 0.1, 0.1, Known.FIRST_DAY), outcome(1, 0.1, 0.1))
    assert tables.has_first_day(day)
    assert tables.of_first_day(day, "own")[1][-1] == ["squid:percent", "1.00", "1.00"]
