"""What a client gets of the running proxy's gateway."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from mitmproxy.test import tflow

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.access.access import Access, StatedAddress
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.memory import bounds
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

URL = Target.parse("http://example.org/")
OWN_PORT = 3128


def client(address: str = "127.0.0.1") -> Any:
    made = tflow.tclient_conn()
    made.peername = (address, 4711)
    return made


async def answered(service: Service, request: Request, address: str = "127.0.0.1") -> Answer:
    """What the gateway answers to a client of this address."""
    decided = service.gateway.decide(request, client(address))
    return decided if isinstance(decided, Answer) else await service.gateway.answer(decided)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("gateway")
    made = Service(ConfigWatch(None, {"state": str(folder), "admin": "off"}), RealClock())
    await made.start()
    yield made
    await made.stop()


@pytest.mark.parametrize("method", ["GET", "PURGE"])
async def test_a_fault_of_ours_is_an_answer_and_not_an_endless_wait(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(service.exchanges, "answer", fails)
    monkeypatch.setattr(service.store, "has_copies", fails)
    pending = service.gateway.decide(Request(method, URL), tflow.tclient_conn())
    assert isinstance(pending, Pending)
    answer = await service.gateway.answer(pending)
    assert answer.head.status == 500
    assert answer.head.fields.get("cache-status") == "bestbefore; detail=fault"
    assert "a bug in bestbefore" in caplog.text


async def test_answers_are_shared_by_the_connections_of_an_address_unless_credentials_are_required(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = service.gateway.sender
    assert sender(client()) == sender(client())
    assert None is not sender(client()) != sender(client("192.0.2.1"))
    assert sender(client()) != sender(client(StatedAddress("127.0.0.1")))
    monkeypatch.setattr(service.gateway.gate, "access", Access(users={"joe": "pw"}))
    assert sender(client()) is None


async def test_also_where_nothing_was_decided_yet(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(service.store, "hot", fails)
    answer = service.gateway.decide(Request("GET", URL), tflow.tclient_conn())
    assert isinstance(answer, Answer)
    assert answer.head.status == 500


async def test_what_could_be_read_in_two_ways_is_refused_at_once(service: Service) -> None:
    client = tflow.tclient_conn()
    refused = service.gateway.refusal(Request("GET", URL, Fields([("Content-Length", "52")])), client)
    assert refused is not None
    assert (refused.head.status, refused.head.fields.get("cache-status")) == (
        400,
        "bestbefore; detail=length-without-content",
    )
    assert service.gateway.refusal(Request("GET", URL, Fields([("Host", "example.org")])), client) is None
    assert service.gateway.refuse(Request("GET", URL), client, 421, "misdirected").head.status == 421


@pytest.mark.parametrize(
    ("method", "fields", "has_content", "takes"),
    [
        (b"GET", (), False, True),
        (b"POST", (), True, True),
        (b"CONNECT", (), False, False),
        (b"GET", ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")), False, False),
        (b"GET", ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")), True, True),
        (b"GET", ((b"Upgrade", b"websocket"),), False, True),
    ],
)
async def test_tunnels_and_upgrades_are_mitmproxys(
    service: Service, method: bytes, fields: tuple[tuple[bytes, bytes], ...], has_content: bool, takes: bool
) -> None:
    request = tflow.treq(method=method, headers=fields)
    assert service.gateway.handles(request, tflow.tclient_conn(), has_content=has_content) is takes


async def test_a_request_that_has_passed_this_proxy_already_is_refused_with_its_status(service: Service) -> None:
    client = tflow.tclient_conn()
    client.peername = ("127.0.0.1", 1)
    looped = Request("POST", URL, Fields([("Via", f"1.1 {service.exchanges.site.name}")]))
    pending = service.gateway.decide(looped, client)
    assert isinstance(pending, Pending)
    answer = await service.gateway.answer(pending)
    assert (answer.head.status, answer.head.fields.get("cache-status")) == (508, "bestbefore; detail=not-allowed")


def detail(answer: Answer) -> tuple[int, str]:
    """Status and the detail of Cache-Status."""
    return answer.head.status, (answer.head.fields.get("cache-status") or "").partition("detail=")[2]


async def test_its_own_address_gets_a_hint(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.gate, "own_ports", frozenset({OWN_PORT}))
    answer = await answered(service, Request("GET", Target.parse(f"http://127.0.0.1:{OWN_PORT}/")))
    assert detail(answer) == (403, "own-address")
    assert f"open http://{pages.HOST}/".encode() in answer.body


async def test_requests_beyond_the_bound_are_refused_until_others_end(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.admission, "exchanges", service.admission.max_exchanges)
    assert detail(await answered(service, Request("GET", URL))) == (503, "too-many-requests")
    assert service.admission.exchanges == service.admission.max_exchanges
    service.admission.end_request()
    purged = await answered(service, Request("PURGE", URL))
    assert purged.head.status == 404
    purged.finish(0, complete=True)
    assert service.admission.exchanges == service.admission.max_exchanges - 1


async def test_a_purge_from_this_machine_removes_the_copies_and_says_how(service: Service) -> None:
    url = Target.parse("http://example.org/purged")
    now_s = service.clock.now() - 1.0
    fields = Fields([("Date", format_http_date(now_s)), ("Cache-Control", "max-age=600")])
    service.store.put(Copy(url.url, Head(200, fields), BodyRef("d", 1), now_s, now_s, now_s, now_s), b"x")
    web_page = Request("PURGE", url, Fields([("Origin", "http://evil.test")]))
    for refused in (await answered(service, web_page), await answered(service, Request("PURGE", url), "192.0.2.7")):
        assert detail(refused) == (403, "purge")
    assert (await answered(service, Request("GET", url))).body == b"x"
    for status, text in ((200, b"purged http://example.org/purged\n"), (404, b"there is no copy of http://")):
        answer = await answered(service, Request("PURGE", url))
        assert detail(answer) == (status, "purge")
        assert answer.body.removeprefix(b"bestbefore: ").startswith(text)
        assert answer.head.fields.get("content-length") == str(len(answer.body))


async def test_a_share_of_memory_shrinks_with_the_number_of_connections(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = []
    for clients in (1, 64, 10**9):
        monkeypatch.setattr(transports, "client_count", lambda n=clients: n)
        shares.append(service.gateway.share_bytes())
    assert shares[0] == bounds.WAITING_BYTES
    assert shares[0] > shares[1] > shares[2] == bounds.MIN_SHARE_BYTES


async def test_sockets_are_paused_closed_and_waited_for_as_transports_does(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []

    async def drained(one: object) -> None:
        calls.append(("drained", one))

    monkeypatch.setattr(transports, "drained", drained)
    monkeypatch.setattr(transports, "set_reading", lambda one, other, *, on: calls.append((one, other, on)))
    monkeypatch.setattr(transports, "close", lambda one, other: calls.append((one, other)))
    one = client()
    await service.gateway.drained(one)
    service.gateway.set_reading(one, one, on=False)
    service.gateway.disconnect(one)
    assert calls == [("drained", one), (one, one, False), (one, one)]
    assert service.gateway.limits.read_s == 60.0
    assert service.gateway.now() == pytest.approx(service.clock.now(), abs=5.0)
