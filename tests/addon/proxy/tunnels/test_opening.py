"""Who speaks first in a tunnel (`live/test_first_word` has real ones)."""

import asyncio
from typing import Any

import pytest
from mitmproxy.connection import ConnectionState, Server
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer, NextLayerHook
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.test import tflow

from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.proxy.tunnels.opening import (
    OTHER_SILENCE_S,
    WEB_SILENCE_S,
    TunnelOpening,
    install,
    silence_s,
)


@pytest.fixture
def context() -> Any:
    made = Context(tflow.tclient_conn(), Options())
    made.server = Server(address=("mail.example", 25))
    return made


async def nothing_happens() -> None:
    await asyncio.Event().wait()


def issued(opening: Layer, event: events.Event) -> list[commands.Command]:
    return list(opening.handle_event(event))


def test_a_web_port_waits_longer() -> None:
    assert [silence_s(port) for port in (443, 8443, 25, 3306)] == [WEB_SILENCE_S] * 2 + [OTHER_SILENCE_S] * 2


def test_without_a_time_it_waits_for_the_client(context: Context) -> None:
    opening = TunnelOpening(context, None, nothing_happens)
    assert issued(opening, events.Start()) == []
    assert isinstance(issued(opening, events.DataReceived(context.client, b"\x16"))[0], NextLayerHook)


def test_at_once_it_asks_before_anyone_speaks(context: Context) -> None:
    opening = TunnelOpening(context, 0.0, nothing_happens)
    assert isinstance(issued(opening, events.Start())[0], NextLayerHook)


async def test_a_silent_client_is_a_connection_whose_end_is_the_tunnels(context: Context) -> None:
    opening = TunnelOpening(context, 0.001, nothing_happens)
    (waits,) = issued(opening, events.Start())
    assert isinstance(waits, BestbeforeWait)
    await waits.work.run()
    (opens,) = issued(opening, events.HookCompleted(waits))
    assert isinstance(opens, commands.OpenConnection)
    context.server.state = ConnectionState.OPEN
    assert issued(opening, events.OpenConnectionCompleted(opens, None)) == []
    (closes,) = issued(opening, events.ConnectionClosed(context.server))
    assert isinstance(closes, commands.CloseConnection)
    assert closes.connection is context.client


@pytest.mark.parametrize("is_raw", [True, False])
def test_the_connection_is_kept_only_for_what_passes_through(context: Context, is_raw: bool) -> None:
    context.server.state, context.server.timestamp_start = ConnectionState.OPEN, 1.0
    opening = TunnelOpening(context, None, nothing_happens)
    issued(opening, events.Start())
    (asks,) = issued(opening, events.DataReceived(context.client, b"x"))
    opening.layer = TCPLayer(context, ignore=True) if is_raw else NextLayer(context)
    (first, *_) = issued(opening, events.HookCompleted(asks))  # type: ignore[arg-type]
    assert isinstance(first, commands.SendData if is_raw else commands.CloseConnection)


def test_raw_data_for_an_origin_that_cannot_be_reached_ends_the_tunnel(context: Context) -> None:
    context.server.error, context.server.timestamp_start = "refused", 1.0
    opening = TunnelOpening(context, None, nothing_happens)
    issued(opening, events.Start())
    (asks,) = issued(opening, events.DataReceived(context.client, b"x"))
    opening.layer = TCPLayer(context, ignore=True)
    (closes,) = issued(opening, events.HookCompleted(asks))  # type: ignore[arg-type]
    assert isinstance(closes, commands.CloseConnection)
    assert closes.connection is context.client


def test_it_takes_the_place_of_the_layer_that_waits(context: Context) -> None:
    stream, between = Layer.__new__(TCPLayer), Layer.__new__(TCPLayer)
    stream.child_layer, between.child_layer = between, NextLayer(context)  # type: ignore[attr-defined]
    install(stream, None, nothing_happens)
    assert isinstance(between.child_layer, TunnelOpening)  # type: ignore[attr-defined]


def test_what_comes_while_the_choice_is_made_causes_no_other_choice(context: Context) -> None:
    context.server.state, context.server.timestamp_start = ConnectionState.OPEN, 1.0
    opening = TunnelOpening(context, None, nothing_happens)
    issued(opening, events.Start())
    (asks,) = issued(opening, events.DataReceived(context.client, b"GET "))
    assert issued(opening, events.DataReceived(context.client, b"/ ")) == []
    opening.layer = TCPLayer(context, ignore=True)
    sent = issued(opening, events.HookCompleted(asks))  # type: ignore[arg-type]
    assert [command.data for command in sent if isinstance(command, commands.SendData)] == [b"GET ", b"/ "]
    assert len(sent) == 2
