"""What is kept of the answers of one connection, and of all."""

from bestbefore.addon.proxy.mitm.wire.kept import ENTRY_BYTES, KEPT_BYTES, KeptAnswers, KeptRoom, SharedAnswers


class Repeat:
    """Begins as often as it is allowed to."""

    def __init__(self, allowed: int = 100) -> None:
        self.allowed = allowed

    def begin(self) -> bool:
        self.allowed -= 1
        return self.allowed >= 0

    def finish(self) -> None: ...


def test_an_answer_is_kept_as_long_as_it_begins_again() -> None:
    room = KeptRoom()
    kept, repeat = KeptAnswers[bytes, str](room), Repeat(2)
    kept.keep(b"a", repeat, "answer", 10)
    assert [kept.get(data) for data in (b"a", b"b", b"a", b"a")] == [(repeat, "answer"), None, (repeat, "answer"), None]
    kept.keep(b"a", Repeat(), "another", 20)
    assert room.used_bytes == ENTRY_BYTES + 20
    kept.forget()
    assert kept.get(b"a") is None
    assert room.used_bytes == 0


def test_there_is_room_for_so_much() -> None:
    kept = KeptAnswers[int, int](KeptRoom())
    for number in range(3):
        kept.keep(number, Repeat(), number, KEPT_BYTES // 2 - ENTRY_BYTES)
    assert [kept.get(number) is not None for number in range(3)] == [False, False, True]
    kept.keep(4, Repeat(), 4, KEPT_BYTES)
    assert kept.get(4) is None


def test_connections_that_have_kept_nothing_for_longest_give_way() -> None:
    room = KeptRoom(3 * (ENTRY_BYTES + 10))
    connections = [KeptAnswers[int, int](room) for _ in range(4)]
    for number in (0, 1, 2, 0, 3):
        connections[number].keep(number, Repeat(), number, 10)
    assert [kept.get(number) is not None for number, kept in enumerate(connections)] == [True, False, True, True]
    assert room.used_bytes == 3 * (ENTRY_BYTES + 10)


def test_what_is_shared_is_each_senders_own_and_the_oldest_gives_way() -> None:
    shared = SharedAnswers[str](2 * (ENTRY_BYTES + 11))
    shared.keep("a", b"x", Repeat(1), "of a", 10)
    shared.keep("b", b"x", Repeat(), "of b", 10)
    assert [shared.get(sender, b"x") for sender in ("a", "b", "c", "a")] == ["of a", "of b", None, None]
    shared.keep("a", b"x", Repeat(), "again", 10)
    shared.keep("a", b"y", Repeat(), "more", 10)
    assert [shared.get(*key) for key in (("b", b"x"), ("a", b"x"), ("a", b"y"))] == [None, "again", "more"]
    assert shared.used_bytes == 2 * (ENTRY_BYTES + 11)
    shared.keep("a", b"x", Repeat(), "too large", 3 * ENTRY_BYTES)
    assert shared.get("a", b"x") is None
