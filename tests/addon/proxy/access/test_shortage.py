"""One line a minute."""

import asyncio

import pytest

from bestbefore.addon.proxy.access.shortage import CONNECTIONS, EXCHANGES, LOG_EVERY_S, Shortage


class Time:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_refusals_are_logged_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now, counted = Time(), list[str]()
    shortage = Shortage(256, now, counted.append)
    assert not shortage.is_recent
    for _ in range(1000):
        shortage.refused(CONNECTIONS)
    shortage.refused(EXCHANGES)
    assert len(counted) == 1001
    assert len(caplog.records) == 1
    now.now_s += LOG_EVERY_S
    assert not shortage.is_recent
    shortage.log_counts()
    shortage.log_counts()
    assert len(caplog.records) == 2
    assert "999 connections, 1 requests" in caplog.text


async def test_what_asyncio_says_of_accepts_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    others = list[str]()
    loop.set_exception_handler(lambda _, context: others.append(context["message"]))
    shortage = Shortage(256, lambda: 0.0)
    shortage.watch(loop)
    for _ in range(100):
        loop.call_exception_handler({"message": "socket.accept() out of system resource"})
    loop.call_exception_handler({"message": "another"})
    assert others == ["another"]
    assert [record.name for record in caplog.records] == ["bestbefore.addon.proxy.access.shortage"]
