"""The header of the PROXY protocol: what HAProxy's own sender writes is in `test_identification` and `live`."""

import ipaddress
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.proxy.balancer.header import MOST_V1_BYTES, MOST_V2_BYTES, missing, source_of

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V4 = struct.pack("!4s4sHH", socket.inet_aton("192.0.2.7"), socket.inet_aton("198.51.100.1"), 4711, 8080)
ports = st.integers(0, 65_535)


def v2(rest: bytes, kind: int = 0x11, command: int = 0x21) -> bytes:
    return SIGNATURE + bytes((command, kind)) + struct.pack("!H", len(rest)) + rest


def read(data: bytes) -> bytes:
    """The header at the beginning of data, read as from a socket."""
    header = b""
    while n := missing(header):
        if len(header) + n > len(data):
            raise EOFError
        header = data[: len(header) + n]
    return header


@st.composite
def headers(draw: st.DrawFn) -> tuple[bytes, tuple[str, int]]:
    """A header, and what it states."""
    version = draw(st.sampled_from((4, 6)))
    source, destination = (draw(st.ip_addresses(v=version)) for _ in range(2))  # type: ignore[arg-type]
    port, other = draw(ports), draw(ports)
    stated = str(getattr(source, "ipv4_mapped", None) or source), port
    if draw(st.booleans()):
        return f"PROXY TCP{version} {source} {destination} {port} {other}\r\n".encode(), stated
    tail = struct.pack("!HH", port, other) + draw(st.binary(max_size=300))
    return v2(source.packed + destination.packed + tail, 0x11 if version == 4 else 0x21), stated


@settings(max_examples=25)
@given(headers(), st.binary(max_size=40), st.data())
def test_a_header_states_its_source_and_nothing_behind_it_is_read(
    made: tuple[bytes, tuple[str, int]], behind: bytes, data: st.DataObject
) -> None:
    header, stated = made
    assert read(header + behind) == header
    assert source_of(header) == stated
    cut = data.draw(st.integers(0, len(header) - 1))
    assert 0 < missing(header[:cut]) <= len(header) - cut
    with pytest.raises(EOFError):
        read(header[:cut])


@settings(max_examples=50)
@given(st.sampled_from((b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21\x11")), st.binary(max_size=5000))
def test_of_anything_else_no_more_than_the_longest_header_is_read(begun: bytes, garbage: bytes) -> None:
    data = begun + garbage
    try:
        header = read(data)
        source = source_of(header)
    except (EOFError, ValueError):
        return
    assert len(header) <= MOST_V2_BYTES
    if source is not None:
        assert ipaddress.ip_address(source[0])
        assert 0 <= source[1] <= 65_535


@pytest.mark.parametrize("header", [
    b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN ff:ff 1 2 what ever\r\n",
    v2(b"", 0x00, 0x20), v2(V4, command=0x20), v2(b"x" * 30, 0x00), v2(b"\0" * 216, 0x31),
])  # fmt: skip
def test_a_header_may_state_no_address(header: bytes) -> None:
    assert read(header + b"GET") == header
    assert source_of(header) is None


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + b"\0" * 30, b"proxy TCP4 192.0.2.7 192.0.2.1 1 2\r\n",
    b"PROXY TCP4  192.0.2.7 192.0.2.1 1 2\r\n", b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2 \r\n",
    b"PROXY TCP4 192.0.2.7 192.0.2.1 1 65536\r\n", b"PROXY TCP4 192.0.2.7 192.0.2.1 01 2\r\n",
    b"PROXY TCP4 192.0.2.7 192.0.2.1 -1 2\r\n", b"PROXY TCP4 192.0.2 192.0.2.1 1 2\r\n",
    b"PROXY TCP4 192.0.2.07 192.0.2.1 1 2\r\n", b"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
    b"PROXY TCP6 192.0.2.7 192.0.2.1 1 2\r\n", b"PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n",
    b"PROXY TCP4 a.example 192.0.2.1 1 2\r\n", b"PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n",
    b"PROXY X\r\nGET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 " + b"1" * MOST_V1_BYTES,
    v2(V4[:-1]), v2(V4, 0x21), v2(V4, 0x41), v2(V4, 0x13), v2(V4, command=0x22), v2(V4, command=0x11),
    v2(b"\0" * 215, 0x31), v2(V4 + b"\0" * MOST_V2_BYTES),
])  # fmt: skip
def test_malformed_headers_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"it|an |there is none"):
        source_of(read(data))
