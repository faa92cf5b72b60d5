"""The reader of mitmproxy flow files, written by `mitmdump -w FILE`."""

import hashlib
import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses, AccessRows
from bestbefore.replay.traces.inference.validators import validator_of
from bestbefore.replay.traces.opening import DAMAGE, LONGEST_LINE_BYTES, OpenTrace
from bestbefore.replay.traces.skipped import Skipped, shortened

if TYPE_CHECKING:
    from mitmproxy import http

LONGEST_FLOW_BYTES = 1 << 30
_START = re.compile(rb"\d{1,12}:\d{1,12}:[a-z]")
"""The beginning of a flow, a nested tnetstring: a length, a colon, as many bytes, and a letter for the type. The first
inner one is the name of a field."""


def read_flows(source: OpenTrace, skipped: Skipped) -> Accesses:
    """Read the GET requests with a response. Other flows are left out and counted.

    Without Last-Modified and ETag, a hash of the body is used as the validator.
    """
    from mitmproxy import http
    from mitmproxy.io import FlowReader

    rows = AccessRows()
    for number, one in enumerate(_netstrings(source, skipped), 1):
        try:
            for flow in FlowReader(BytesIO(one)).stream():
                if not isinstance(flow, http.HTTPFlow) or flow.request.method != "GET" or flow.response is None:
                    skipped.notes["flows left out, not a GET that was answered"] += 1
                else:
                    _add(rows, flow, flow.response)
        except Exception as error:  # mitmproxy raises many types for invalid flows
            skipped.add(f"flow {number}", shortened(" ".join(str(error).split())))
    return rows.accesses()


def looks_like_flows(head: bytes) -> bool:
    """Whether the content begins with a nested tnetstring."""
    return _START.match(head) is not None


def _add(rows: AccessRows, flow: "http.HTTPFlow", response: "http.Response") -> None:
    """Add the row of a flow. Raises ValueError if it cannot be used."""
    url = flow.request.pretty_url
    if len(url) > LONGEST_LINE_BYTES:
        raise ValueError(f"URL {shortened(url)}: longer than {LONGEST_LINE_BYTES:,} characters")
    time_s = float(flow.request.timestamp_start)
    if not 0.0 <= time_s < 1e12:
        raise ValueError(f"time {time_s}: expected Unix seconds")
    body = response.raw_content
    peer = flow.client_conn.peername
    validator = validator_of(response.headers.get("last-modified"), response.headers.get("etag"))
    if validator is None and body:
        validator = hashlib.blake2b(response.get_content(strict=False) or body, digest_size=16).hexdigest()
    rows.append(
        time_s,
        _text(peer[0]) if peer else "",
        _text(url),
        status=response.status_code if 0 <= response.status_code <= 999 else UNKNOWN,
        size_bytes=UNKNOWN if body is None else len(body),
        validator=None if validator is None else _text(validator),
        agent=_agent(flow),
    )


def _agent(flow: "http.HTTPFlow") -> str | None:
    agent = flow.request.headers.get("user-agent")
    return None if agent is None else _text(agent)


def _text(text: str) -> str:
    """Return the text with the surrogates that mitmproxy uses for invalid UTF-8 escaped."""
    return text.encode(errors="backslashreplace").decode()


def _netstrings(source: OpenTrace, skipped: Skipped) -> Iterator[bytes]:
    """Yield each outer tnetstring. A broken one ends the reading, as the next cannot be located."""
    file = source.file
    number = 0
    try:
        while first := file.read(1):
            number += 1
            prefix = first
            while prefix[-1:].isdigit() and len(prefix) < 13:
                prefix += file.read(1) or b"?"
            length = int(prefix[:-1]) if prefix.endswith(b":") and len(prefix) > 1 else LONGEST_FLOW_BYTES
            if length >= LONGEST_FLOW_BYTES:
                skipped.add(f"flow {number}", "expected the length of a flow; what follows is not read")
                return
            rest = file.read(length + 1)
            if len(rest) <= length:
                skipped.add(f"flow {number}", f"cut short: {len(rest):,} of {length + 1:,} bytes")
                return
            yield prefix + rest
    except DAMAGE as error:
        skipped.add("where the gzip data are corrupt or truncated", f"{error}; what follows is not read")
