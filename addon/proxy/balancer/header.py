"""The header of the PROXY protocol, versions 1 and 2, with which a load balancer states the address of its client.

Source: https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt, sections 2.1 and 2.2. A header
may state no address (LOCAL for the sender's own checks, UNKNOWN, a Unix socket): then the sender's holds. What version
2 has behind the addresses (TLVs) is skipped.
"""

import ipaddress
import re
import struct
from collections.abc import Callable

MOST_V1_BYTES = 107
"""The longest header of version 1, with its CRLF."""
MOST_V2_BYTES = 4096
"""The longest header of version 2 that is read. The protocol allows 64 KiB."""

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_V1 = b"PROXY "
_V2 = b"\r\n\r\n\0\r\nQUIT\n"
_V1_FAMILIES: dict[bytes, Callable[[str], Address]] = {b"TCP4": ipaddress.IPv4Address, b"TCP6": ipaddress.IPv6Address}
_SHORTEST_V1 = len(b"PROXY UNKNOWN\r\n")
_V2_START = struct.Struct("!12sBBH")
_UNSPECIFIED, _IPV4, _IPV6, _UNIX = range(4)
_ADDRESSES = {_IPV4: struct.Struct("!4s4sHH"), _IPV6: struct.Struct("!16s16sHH")}
"""Source, destination, and their ports."""
_UNIX_BYTES = 216
_NUMBER = re.compile(rb"0|[1-9][0-9]{0,4}")
_LARGEST_PORT = 65_535


def missing(begun: bytes) -> int:
    """Return how many bytes at least a header that has begun so still has, so that no more is read; 0: it is complete.

    Raises ValueError if no header begins so.
    """
    if begun.startswith(_V1):
        return _missing_v1(begun)
    if begun.startswith(_V2):
        return _missing_v2(begun)
    if _V1.startswith(begun) or _V2.startswith(begun):
        return _SHORTEST_V1 - len(begun)  # a header of version 2 is longer
    raise ValueError("there is none")


def _missing_v1(begun: bytes) -> int:
    end = begun.find(b"\r\n")
    if end != -1:
        return 0
    if len(begun) >= MOST_V1_BYTES:
        raise ValueError(f"its line is longer than {MOST_V1_BYTES} bytes")
    if len(begun) < _SHORTEST_V1:
        return _SHORTEST_V1 - len(begun)
    return 1 if begun.endswith(b"\r") else min(2, MOST_V1_BYTES - len(begun))


def _missing_v2(begun: bytes) -> int:
    if len(begun) < _V2_START.size:
        return _V2_START.size - len(begun)
    length: int = _V2_START.size + _V2_START.unpack_from(begun)[3]
    if length > MOST_V2_BYTES:
        raise ValueError(f"it is longer than {MOST_V2_BYTES} bytes")
    return length - len(begun)


def source_of(header: bytes) -> tuple[str, int] | None:
    """Return the address and port of the client that a complete header states; None: it states none.

    Raises ValueError if it is malformed. An IPv4-mapped IPv6 address gives the IPv4 address.
    """
    return _source_v1(header) if header.startswith(_V1) else _source_v2(header)


def _source_v1(line: bytes) -> tuple[str, int] | None:
    if not line.endswith(b"\r\n"):
        raise ValueError("its line does not end with CRLF")
    family, *fields = line.removeprefix(_V1).removesuffix(b"\r\n").split(b" ")
    if family == b"UNKNOWN":  # the rest of the line is to be ignored
        return None
    kind = _V1_FAMILIES.get(family)
    if kind is None or len(fields) != 4:
        raise ValueError("its line is not of the form PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT")
    try:
        source, _ = (kind(field.decode("ascii")) for field in fields[:2])
    except ValueError:
        raise ValueError("an address in it is malformed") from None
    ports = [int(field) for field in fields[2:] if _NUMBER.fullmatch(field)]
    if len(ports) != 2 or max(ports) > _LARGEST_PORT or getattr(source, "scope_id", None):
        raise ValueError("an address or port in it is malformed")
    return _text(source), ports[0]


def _source_v2(header: bytes) -> tuple[str, int] | None:
    _, command, kind, length = _V2_START.unpack_from(header)
    family, transport = divmod(kind, 16)
    if command not in (0x20, 0x21) or family > _UNIX or transport > 2:
        raise ValueError("its version, command or family is unknown")
    is_local = command == 0x20
    if is_local or _UNSPECIFIED in (family, transport):
        return None
    layout = _ADDRESSES.get(family)
    if length < (_UNIX_BYTES if layout is None else layout.size):
        raise ValueError("it is too short for its addresses")
    if layout is None:
        return None
    source, _, port, _ = layout.unpack_from(header, _V2_START.size)
    return _text(ipaddress.ip_address(source)), port


def _text(address: Address) -> str:
    return str(getattr(address, "ipv4_mapped", None) or address)
