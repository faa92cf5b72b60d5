"""What is kept of one connection's answers."""

from bestbefore.addon.proxy.mitm.wire.kept import KEPT_BYTES, KeptAnswers


class Repeat:
    """Begins as often as it is allowed to."""

    def __init__(self, allowed: int = 100) -> None:
        self.allowed = allowed

    def begin(self) -> bool:
        self.allowed -= 1
        return self.allowed >= 0

    def finish(self) -> None: ...


def test_an_answer_is_kept_as_long_as_it_begins_again() -> None:
    kept, repeat = KeptAnswers[bytes, str](), Repeat(2)
    kept.keep(b"a", repeat, "answer", 10)
    assert [kept.get(data) for data in (b"a", b"b", b"a", b"a")] == [(repeat, "answer"), None, (repeat, "answer"), None]
    kept.keep(b"a", Repeat(), "another", 10)
    kept.forget()
    assert kept.get(b"a") is None


def test_there_is_room_for_so_much() -> None:
    kept = KeptAnswers[int, int]()
    for number in range(3):
        kept.keep(number, Repeat(), number, KEPT_BYTES // 2)
    assert [kept.get(number) is not None for number in range(3)] == [False, False, True]
    kept.keep(4, Repeat(), 4, KEPT_BYTES + 1)
    assert kept.get(2) is None
    assert kept.get(4) is None
