import asyncio

import pytest

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.interim import MAX_FORWARDED, AnswerSequence, Interim, is_forwarded
from bestbefore.addon.rfc9111.message import Fields, Head

HINT, FINAL = Head(103, Fields()), Answer(Head(200, Fields()))


async def test_what_comes_before_the_answer_is_there_before_it() -> None:
    told, goes_on = asyncio.Event(), asyncio.Event()

    async def answer(interim: Interim) -> Answer:
        interim(HINT)
        told.set()
        await goes_on.wait()
        return FINAL

    asking = AnswerSequence(answer)
    assert await asking.next() is HINT
    assert told.is_set()
    goes_on.set()
    assert await asking.next() is FINAL


async def test_an_origin_that_does_not_come_to_the_point_is_passed_on_so_far() -> None:
    async def answer(interim: Interim) -> Answer:
        for _ in range(1000):
            interim(HINT)
        return FINAL

    asking = AnswerSequence(answer)
    assert [await asking.next() for _ in range(MAX_FORWARDED + 1)] == [HINT] * MAX_FORWARDED + [FINAL]


async def test_what_answering_raises_is_raised() -> None:
    async def answer(_interim: Interim) -> Answer:
        raise KeyError

    with pytest.raises(KeyError):
        await AnswerSequence(answer).next()


async def test_who_no_longer_waits_ends_it() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def answer(_interim: Interim) -> Answer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return FINAL

    waiting = asyncio.create_task(AnswerSequence(answer).next())
    await asked.wait()
    waiting.cancel()
    await asyncio.wait_for(ended.wait(), 30)


@pytest.mark.parametrize(("status", "passed"), [(100, False), (101, False), (102, True), (103, True), (200, False)])
def test_only_what_is_for_the_client_is_passed_on(status: int, passed: bool) -> None:
    assert is_forwarded(status) == passed
