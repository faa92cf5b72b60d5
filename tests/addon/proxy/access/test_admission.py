"""Which connections and requests are taken up. (With sockets: `live/clients/test_descriptors`.)"""

import asyncio

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.proxy.access.admission import Admission
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.content import PIECE_BYTES
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.rfc9111.message import Fields, Head


def make(in_flight_bytes: int = 10 * PIECE_BYTES) -> Admission:
    return Admission(1024, in_flight_bytes, lambda: 0.0)


async def answer() -> Answer:
    return Answer(Head(200, Fields()))


async def test_a_request_is_under_way_until_its_answer_is_sent() -> None:
    admission = make()
    assert admission.begin_request()
    given = await admission.end_when_sent(answer())
    assert admission.exchanges == 1
    given.finish(0, complete=False)
    assert admission.exchanges == 0


async def test_or_until_there_will_be_none() -> None:
    admission = make()
    assert admission.begin_request()
    asked = asyncio.ensure_future(admission.end_when_sent(asyncio.sleep(10, Answer(Head(200, Fields())))))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert admission.exchanges == 0


def test_requests_are_bounded_by_what_may_be_in_flight() -> None:
    admission = make()
    assert [admission.begin_request() for _ in range(11)] == [True] * 10 + [False]


def test_connections_that_mitmproxy_opens_are_bounded() -> None:
    admission = make()
    opened = [admission.reserve_connection() for _ in range(admission.descriptors + 1)]
    assert opened[-2:] == [True, False]
    admission.release_connection()  # that of the one refused
    assert not admission.reserve_connection()
    admission.release_connection()
    admission.release_connection()
    assert [admission.reserve_connection() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_as_many_clients_are_connected_as_there_are_descriptors_for(
    monkeypatch: pytest.MonkeyPatch, more: int, refused: bool
) -> None:
    admission = make()
    sent: list[bytes] = []
    monkeypatch.setattr(transports, "client_count", lambda: admission.descriptors + more)
    monkeypatch.setattr(transports, "close_idle", lambda: False)
    monkeypatch.setattr(transports, "send", lambda _, data: sent.append(data))
    assert admission.refuses(tflow.tclient_conn()) is refused
    assert [data.split(b" ")[1] for data in sent] == [b"503"] * refused


def test_an_idle_connection_makes_room_but_is_not_searched_for_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, searches, refusals = [0.0], list[float](), list[str]()
    admission = Admission(1024, PIECE_BYTES, lambda: now_s[0], refusals.append)

    def close_idle() -> bool:
        searches.append(now_s[0])
        return True

    monkeypatch.setattr(transports, "client_count", lambda: admission.descriptors + 1)
    monkeypatch.setattr(transports, "close_idle", close_idle)
    monkeypatch.setattr(transports, "send", lambda *_: None)
    outcomes = []
    for now_s[0] in (0.0, 0.0, 0.09, 0.1, 0.3):
        outcomes.append(admission.refuses(tflow.tclient_conn()))
    assert outcomes == [False, True, True, False, False]
    assert searches == [0.0, 0.1, 0.3]
    assert refusals == ["connections"] * 2
