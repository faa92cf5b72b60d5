"""The fingerprint of a TLS client, by what its ClientHello offers."""

import hashlib
from collections.abc import Iterable

_PER_CONNECTION = frozenset({0, 16, 21, 35, 41, 42, 44, 51, 65037})
"""Extensions that differ between connections of one program: the host's name, the protocols of the application,
padding, tickets and what belongs to a resumption, cookies, key shares, and an encrypted ClientHello."""
_LISTS = {10: 2, 13: 2, 43: 1}
"""The extensions whose content is a list of numbers of 16 bits (groups, signatures, versions), by the size of the
length before it in bytes."""


def fingerprint(cipher_suites: Iterable[int], extensions: Iterable[tuple[int, bytes]]) -> str:
    """Return a digest of what is the same in each ClientHello of a program, to any host and in any order."""
    offered = sorted(suite for suite in cipher_suites if not _is_grease(suite))
    extended = sorted(
        (kind, tuple(_numbers(content[_LISTS[kind] :])) if kind in _LISTS else ())
        for kind, content in extensions
        if kind not in _PER_CONNECTION and not _is_grease(kind)
    )
    return hashlib.blake2b(repr((offered, extended)).encode(), digest_size=6).hexdigest()


def _numbers(content: bytes) -> Iterable[int]:
    numbers = (int.from_bytes(content[at : at + 2]) for at in range(0, len(content), 2))
    return sorted(number for number in numbers if not _is_grease(number))


def _is_grease(number: int) -> bool:
    """Whether a number is one of those that clients choose at random (RFC 8701)."""
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF
