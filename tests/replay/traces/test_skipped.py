from collections.abc import Sequence
from pathlib import Path

import pytest

from bestbefore.replay.traces.skipped import Skipped, shortened


def test_the_first_three_bad_entries_are_shown_and_all_are_counted() -> None:
    skipped = Skipped(Path("a.log"))
    for line in range(2, 7):
        skipped.add(f"line {line}", "bad")
    assert list(skipped.warnings()) == [
        "a.log: 5 bad entries skipped, the first 3:",
        "a.log: line 2: bad",
        "a.log: line 3: bad",
        "a.log: line 4: bad",
    ]


@pytest.mark.parametrize(("counts", "said"), [
    ((1, 1), "2 bad entries skipped:"), ((7,), "7 bad entries skipped, the first:"),
    ((7, 2), "9 bad entries skipped, the first 2:"), ((7, 2, 1, 1), "11 bad entries skipped, the first 3:"),
])
def test_it_is_said_how_many_are_shown(counts: Sequence[int], said: str) -> None:
    skipped = Skipped(Path("a.log"))
    for count in counts:
        skipped.add("line 2", "bad", count)
    head, *shown = skipped.warnings()
    assert (head, len(shown)) == (f"a.log: {said}", min(len(counts), 3))


def test_nothing_is_said_if_all_is_good() -> None:
    skipped = Skipped(Path("a.log"))
    assert [*skipped.warnings(), *skipped.remarks()] == []


def test_what_was_left_out_on_purpose_is_counted_apart() -> None:
    skipped = Skipped(Path("a.log"))
    skipped.notes["requests left out, not a GET"] += 1234
    assert list(skipped.warnings()) == []
    assert list(skipped.remarks()) == ["a.log: requests left out, not a GET: 1,234"]


def test_what_could_move_a_cursor_is_shown_as_an_escape() -> None:
    skipped = Skipped(Path("a.xml"))
    skipped.add("\x1b[2Jé\x7f", "a\nb\udcff")
    assert skipped.first == r"a.xml: \x1b[2Jé\x7f: a\nb\udcff"


def test_a_long_value_is_cut() -> None:
    assert shortened("x" * 80) == "x" * 80
    assert shortened("x" * 81) == "x" * 80 + "..."
