"""Positions in channels, on each backend."""


async def test_a_position_is_kept_by_channel(store):
    assert await store.positions.get("channel") is None
    await store.positions.put("channel", b"1-0")
    await store.positions.put("other", b"2-0")
    assert await store.positions.get("channel") == b"1-0"
