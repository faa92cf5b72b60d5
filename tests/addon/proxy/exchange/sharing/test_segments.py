"""Content of which the start is released."""

import pytest

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.sharing.segments import Segments


async def test_content_of_one_segment_is_whole() -> None:
    kept = Segments(Budget())
    assert kept.whole is not None
    assert await kept.add(b"ab", 4)
    assert await kept.add(b"cd", 4)
    assert kept.whole is not None
    assert kept.whole.body() == b"abcd"
    assert await kept.add(b"e", 4)
    assert kept.whole is None


async def test_segments_are_read_and_released_one_by_one() -> None:
    budget = Budget(100)
    kept = Segments(budget)
    for chunk in (b"ab", b"cd", b"ef"):
        assert await kept.add(chunk, 2)
    assert [await kept.read(at) for at in (0, 2, 3, 5)] == [b"ab", b"cd", b"d", b"f"]
    kept.release(3)
    assert (kept.start, kept.end, budget.used_bytes) == (2, 6, 4)
    kept.release(6)
    assert (kept.start, kept.end, budget.used_bytes) == (6, 6, 0)
    assert await kept.add(b"g", 2)
    assert await kept.read(6) == b"g"


@pytest.mark.parametrize("size", [3, 5])
async def test_it_goes_on_after_a_piece_for_which_there_was_no_room(size: int) -> None:
    kept = Segments(Budget(4))
    assert await kept.add(b"abc", 100)
    assert not await kept.add(b"x" * size, 100)
    assert (kept.start, kept.end) == (0, 3)
    kept.skip(size)
    assert (kept.start, kept.end) == (3 + size, 3 + size)
    assert await kept.add(b"defg", 100)
    assert await kept.read(3 + size) == b"defg"
