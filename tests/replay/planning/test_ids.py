import pytest

from bestbefore.replay.planning import ids
from bestbefore.replay.planning.ids import BETWEEN, Ids


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Ids:
    """Seven names in three parts."""
    monkeypatch.setattr(ids, "PART", 3)
    return Ids.of(["a", "b", "ü", "c d", "e\nf", "g", "h"])


def test_a_name_is_found_by_its_row(names: Ids) -> None:
    assert [names[row] for row in range(len(names))] == ["a", "b", "ü", "c d", "e\nf", "g", "h"]


def test_parts_are_consecutive(names: Ids) -> None:
    assert list(names.parts()) == [
        (slice(0, 3), ["a", "b", "ü"]), (slice(3, 6), ["c d", "e\nf", "g"]), (slice(6, 7), ["h"]),
    ]


def test_the_first_name_that_occurs_again_is_found(monkeypatch: pytest.MonkeyPatch, names: Ids) -> None:
    assert names.first_repeated() is None
    monkeypatch.setattr(ids, "PART", 2)
    assert Ids.of(["a", "b", "c", "b", "a"]).first_repeated() == (1, 3)


def test_a_name_with_what_stands_between_names_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^object 'b\\x00c': expected a name without NUL$"):
        Ids.of(["a", "b\0c"])


def test_there_may_be_no_name() -> None:
    empty = Ids.of([])
    assert len(empty) == 0
    assert list(empty.parts()) == []
    assert empty.first_repeated() is None


def test_a_part_may_be_given_as_it_is_kept() -> None:
    assert list(Ids([f"x{BETWEEN}y", "z"], [2, 1]).parts())[1] == (slice(2, 3), ["z"])
