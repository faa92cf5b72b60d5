"""Who speaks first in a tunnel (`live/clients/test_first_speaker` has real ones)."""

import asyncio
from typing import Any

import pytest
from mitmproxy.connection import ConnectionState, Server
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer, NextLayerHook
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.test import tflow

from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.proxy.tunnels.first_speaker import Expected
from bestbefore.addon.proxy.tunnels.opening import TunnelOpening, install

AT_ONCE = Expected(0.0)


@pytest.fixture
def context() -> Any:
    made = Context(tflow.tclient_conn(), Options())
    made.client.alpn = b""
    made.server = Server(address=("mail.example", 25))
    return made


async def nothing_happens() -> None:
    await asyncio.Event().wait()


def issued(opening: Layer, event: events.Event) -> list[commands.Command]:
    return list(opening.handle_event(event))


def begun(context: Context, expected: Expected = AT_ONCE) -> tuple[TunnelOpening, commands.OpenConnection]:
    """An opening that connects to the origin."""
    opening = TunnelOpening(context, expected, nothing_happens)
    (opens,) = issued(opening, events.Start())
    assert isinstance(opens, commands.OpenConnection)
    return opening, opens


def connected(
    opening: TunnelOpening, opens: commands.OpenConnection, error: str | None = None
) -> list[commands.Command]:
    if error is None:
        opens.connection.state, opens.connection.timestamp_start = ConnectionState.OPEN, 1.0
    return issued(opening, events.OpenConnectionCompleted(opens, error))


def chosen(opening: TunnelOpening, asks: commands.Command, *, is_raw: bool) -> list[commands.Command]:
    assert isinstance(asks, NextLayerHook)
    opening.layer = TCPLayer(opening.context, ignore=True) if is_raw else NextLayer(opening.context)
    return issued(opening, events.HookCompleted(asks))  # type: ignore[arg-type]


def test_without_a_time_it_waits_for_the_client(context: Context) -> None:
    opening = TunnelOpening(context, Expected(None), nothing_happens)
    assert issued(opening, events.Start()) == []
    assert isinstance(issued(opening, events.DataReceived(context.client, b"\x16"))[0], NextLayerHook)


def test_below_tls_it_waits_for_a_client_that_has_agreed_on_http(context: Context) -> None:
    context.client.alpn = b"h2"
    assert issued(TunnelOpening(context, AT_ONCE, nothing_happens), events.Start()) == []


def test_under_passthrough_it_asks_before_anyone_speaks(context: Context) -> None:
    opening = TunnelOpening(context, Expected(0.0, is_passthrough=True), nothing_happens)
    assert isinstance(issued(opening, events.Start())[0], NextLayerHook)


async def test_a_silent_client_is_a_connection_whose_end_is_the_tunnels(context: Context) -> None:
    opening = TunnelOpening(context, Expected(0.001), nothing_happens)
    (waits,) = issued(opening, events.Start())
    assert isinstance(waits, BestbeforeWait)
    await waits.work.run()
    (opens,) = issued(opening, events.HookCompleted(waits))
    assert isinstance(opens, commands.OpenConnection)
    assert connected(opening, opens) == []
    (closes,) = issued(opening, events.ConnectionClosed(opens.connection))
    assert isinstance(closes, commands.CloseConnection)
    assert closes.connection is context.client


@pytest.mark.parametrize("by_client", [True, False])
async def test_who_speaks_first_is_noted(context: Context, by_client: bool) -> None:
    heard = list[bool]()
    opening, opens = begun(context, Expected(0.0, note_first=heard.append))
    connected(opening, opens)
    speaker = context.client if by_client else opens.connection
    (asks,) = issued(opening, events.DataReceived(speaker, b"SSH-2.0-x\r\n"))
    (sends,) = chosen(opening, asks, is_raw=True)
    assert isinstance(sends, commands.SendData)
    assert sends.connection is (opens.connection if by_client else context.client)
    assert context.server is opens.connection
    assert heard == [by_client]


@pytest.mark.parametrize("error", [None, "refused"])
async def test_what_passes_through_waits_for_the_connection(context: Context, error: str | None) -> None:
    opening, opens = begun(context)
    (asks,) = issued(opening, events.DataReceived(context.client, b"x"))
    assert chosen(opening, asks, is_raw=True) == []
    assert issued(opening, events.DataReceived(context.client, b"y")) == []
    sent = connected(opening, opens, error)
    if error is None:
        assert [command.data for command in sent if isinstance(command, commands.SendData)] == [b"x", b"y"]
    else:
        (closes,) = sent
        assert isinstance(closes, commands.CloseConnection)
        assert closes.connection is context.client


async def test_a_connection_that_is_made_while_the_choice_is_made_begins_the_tunnel_once(context: Context) -> None:
    opening, opens = begun(context)
    (asks,) = issued(opening, events.DataReceived(context.client, b"x"))
    opening.layer = TCPLayer(context, ignore=True)  # as an addon sets it, before the hook is completed
    assert connected(opening, opens) == []
    (sends,) = issued(opening, events.HookCompleted(asks))  # type: ignore[arg-type]
    assert isinstance(sends, commands.SendData)


@pytest.mark.parametrize("is_pending", [True, False])
async def test_a_connection_in_vain_is_closed_and_what_is_intercepted_does_not_see_it(
    context: Context, is_pending: bool
) -> None:
    opening, opens = begun(context)
    closed = [] if is_pending else connected(opening, opens)
    (asks,) = issued(opening, events.DataReceived(context.client, b"x"))
    closed += chosen(opening, asks, is_raw=False)
    assert context.server is not opens.connection
    assert (context.server.address, context.server.connected) == (("mail.example", 25), False)
    if is_pending:
        closed += connected(opening, opens)
    (closes,) = [command for command in closed if isinstance(command, commands.CloseConnection)]
    assert closes.connection is opens.connection
    assert issued(opening, events.ConnectionClosed(opens.connection)) == []


async def test_a_client_that_speaks_after_a_connection_has_failed_is_answered(context: Context) -> None:
    opening, opens = begun(context)
    (wakes,) = connected(opening, opens, "refused")
    assert isinstance(wakes, commands.RequestWakeup)
    (asks,) = issued(opening, events.DataReceived(context.client, b"\x16"))
    assert issued(opening, events.Wakeup(wakes)) == []
    assert [type(command) for command in chosen(opening, asks, is_raw=False)] == [NextLayerHook]
    assert context.server.error is None


@pytest.mark.parametrize("speaks", [True, False])
async def test_raw_data_or_silence_ends_the_tunnel_to_an_origin_that_cannot_be_reached(
    context: Context, speaks: bool
) -> None:
    opening, opens = begun(context)
    opens.connection.error = "refused"
    (wakes,) = connected(opening, opens, "refused")
    assert isinstance(wakes, commands.RequestWakeup)
    event = events.DataReceived(context.client, b"x") if speaks else events.Wakeup(wakes)
    (asks,) = issued(opening, event)
    assert context.server.error == "refused", "so that the tunnel is logged as such"
    (closes,) = chosen(opening, asks, is_raw=True)
    assert isinstance(closes, commands.CloseConnection)
    assert closes.connection is context.client


def test_it_takes_the_place_of_the_layer_that_waits(context: Context) -> None:
    stream, between = Layer.__new__(TCPLayer), Layer.__new__(TCPLayer)
    stream.child_layer, between.child_layer = between, NextLayer(context)  # type: ignore[attr-defined]
    install(stream, Expected(None), nothing_happens)
    assert isinstance(between.child_layer, TunnelOpening)  # type: ignore[attr-defined]
    install(HttpLayer(context, HTTPMode.transparent), Expected(None), nothing_happens)


async def test_what_comes_while_the_choice_is_made_causes_no_other_choice(context: Context) -> None:
    opening, opens = begun(context)
    connected(opening, opens)
    (asks,) = issued(opening, events.DataReceived(context.client, b"GET "))
    assert issued(opening, events.DataReceived(context.client, b"/ ")) == []
    sent = chosen(opening, asks, is_raw=True)
    assert [command.data for command in sent if isinstance(command, commands.SendData)] == [b"GET ", b"/ "]
    assert len(sent) == 2
