"""Positions in channels, on each backend."""


async def test_a_position_is_kept_by_channel(store):
    assert await store.positions.get("channel") is None
    await store.positions.put("channel", b"1-0")
    await store.positions.put("other", b"2-0")
    assert await store.positions.get("channel") == b"1-0"


async def test_of_two_that_change_a_position_the_later_one_finds_out(store):
    assert await store.positions.newer("channel", b"") is None
    assert await store.positions.swap("channel", b"", b"1") is True
    assert await store.positions.newer("channel", b"") == b"1"
    assert await store.positions.swap("channel", b"", b"2") is False
    assert await store.positions.swap("channel", b"1", b"2") is True
    assert await store.positions.get("channel") == b"2"
