"""When the answers at the bytes may be given."""

from typing import Any

import pytest
from mitmproxy import version
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode

from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.wire import internals
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway


def test_the_installed_mitmproxy_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert internals.is_known()
    monkeypatch.setattr(version, "VERSION", "99.0.0")
    assert not internals.is_known()


def started(context: Context, *received: bytes, alpn: bytes = b"") -> tuple[CachingHttpLayer, list[Any]]:
    layer = CachingHttpLayer(context, HTTPMode.regular, FixedGateway())
    layer.context.client.alpn = alpn
    sent = list(layer.handle_event(events.Start()))
    for data in received:
        sent += layer.handle_event(events.DataReceived(layer.context.client, data))
    return layer, sent


def test_messages_begin_when_all_before_is_read_and_answered(context: Context) -> None:
    assert internals.is_between_messages(started(context)[0])


async def test_none_begins_within_a_head(context: Context) -> None:
    layer, _ = started(context, b"G")
    assert not internals.is_between_messages(layer)
    layer._head_timer.cancel()  # type: ignore[union-attr]


async def test_none_begins_before_the_answer(context: Context) -> None:
    layer, waits = started(context, b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    assert waits, "it waits for the gateway"
    assert not internals.is_between_messages(layer)


def test_none_begins_on_a_connection_that_is_closing(context: Context) -> None:
    layer, _ = started(context)
    layer.context.client.state = ConnectionState.CAN_WRITE
    assert not internals.is_between_messages(layer)


def test_http_2_has_no_such_moment(context: Context) -> None:
    assert not internals.is_between_messages(started(context, alpn=b"h2")[0])
