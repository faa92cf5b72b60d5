"""What a client gets of the running proxy's gateway."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Pending
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields, Request, Target

URL = Target.parse("http://example.org/")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    made = Service(ConfigWatch(None, {"state": str(tmp_path), "admin": "off"}), RealClock())
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
    monkeypatch.setattr(service.store, "copies", fails)
    pending = service.gateway.decide(Request(method, URL), tflow.tclient_conn())
    assert isinstance(pending, Pending)
    answer = await service.gateway.answer(pending)
    assert answer.head.status == 500
    assert answer.head.fields.get("cache-status") == "bestbefore; detail=fault"
    assert "a bug in bestbefore" in caplog.text


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
def test_tunnels_and_upgrades_are_mitmproxys(
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
