"""Upgrades, which mitmproxy forwards itself: what is sent to the origin and to the client."""

import asyncio
from dataclasses import replace

from mitmproxy.http import HTTPFlow

from bestbefore.addon.engine.request import received
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.forwarded import (
    PASSED,
    ForwardedRequest,
    can_be_forwarded,
    upgrade_request_fields,
    upgrade_response_head,
)
from bestbefore.addon.proxy.mitm.translate import fields_of, pairs_of
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Head

FORWARDED = "bestbefore"
"""The metadata key of a flow under which its `ForwardedRequest` is kept."""


def forwarded_of(flow: HTTPFlow) -> ForwardedRequest | None:
    """Return the request of a flow that is forwarded; None for other flows."""
    forwarded = flow.metadata.get(FORWARDED)
    return forwarded if isinstance(forwarded, ForwardedRequest) else None


def forward_request(flow: HTTPFlow, forwarded: ForwardedRequest, service: Service) -> None:
    """Let mitmproxy forward a request with the fields of the proxy, within a deadline."""
    flow.metadata[FORWARDED] = replace(forwarded, deadline=_deadline(flow, service))
    flow.metadata[PASSED] = forwarded.passed
    flow.request.headers.fields = pairs_of(upgrade_request_fields(received(forwarded.request), service.site))


def _deadline(flow: HTTPFlow, service: Service) -> asyncio.TimerHandle:
    """Close the connection to the origin after the time that an origin has to answer other requests."""
    within_s = service.gateway.limits.read_s + service.gateway.limits.head_s
    return asyncio.get_running_loop().call_later(within_s, lambda: transports.close(flow.server_conn, flow.client_conn))


def forward_head(flow: HTTPFlow, service: Service) -> None:
    """Stream the response to the client, unless it cannot be forwarded."""
    forwarded, response = forwarded_of(flow), flow.response
    if forwarded is None or response is None:
        return
    forwarded.answered()
    head = Head(response.status_code, fields_of(response.headers), response.reason)
    if not can_be_forwarded(forwarded.request, head) or response.http_version not in ("HTTP/1.0", "HTTP/1.1"):
        flow.kill()
        return
    response.http_version = "HTTP/1.1"  # the proxy's own version, whatever the origin's is (RFC 9112 2.3)
    passed = upgrade_response_head(head, service.clock.now(), service.site)
    response.reason, response.headers.fields = passed.reason, pairs_of(passed.fields)
    if response.status_code != 101:
        response.stream = True
