"""Answers that are read without a client."""

from collections.abc import AsyncGenerator

import pytest

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.rfc9111.message import Fields, Head

HEAD = Head(200, Fields())


async def pieces() -> AsyncGenerator[bytes]:
    yield b"abc"
    yield b"def"


@pytest.mark.parametrize(("most", "complete"), [(5, False), (6, True)])
async def test_reading_sends_nothing_and_ends_the_answer_once(most: int, complete: bool) -> None:
    ends: list[object] = []
    answer = Answer(HEAD, chunks=pieces(), sent=lambda *sent: ends.append(sent), release=[lambda: ends.append("free")])
    await answer.read(most)
    assert ends == ["free", (0, complete)]
    answer.finish(0, complete=False)
    assert len(ends) == 2


async def test_an_answer_that_is_whole_already_is_complete() -> None:
    ends: list[object] = []
    await Answer(HEAD, b"abc", sent=lambda *sent: ends.append(sent)).read()
    assert ends == [(0, True)]
