"""Signatures of messages and subscriptions: HMAC-SHA-256 with a key that the hub and its edges share."""

import hashlib
import hmac
from pathlib import Path

from bestbefore.addon.errors import InputError

LEAST_CHARACTERS = 32
"""The shortest key: 128 bits in hexadecimal digits."""
_CONTEXT = b"bestbefore channel 1\n"
"""What is signed before each message, so that a signature is valid for nothing else."""


def read_key(path: Path) -> bytes:
    """Read the shared key. Raises InputError, which says how to make one."""
    make = f"make one with `openssl rand -hex 32 > {path}`, readable by you alone, and give hub and edges the same"
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{path}: the key of the channel cannot be read: {error.strerror}: {make}") from None
    if len(key) < LEAST_CHARACTERS:
        raise InputError(f"{path}: the key of the channel has {len(key)} characters, fewer than 32: {make}")
    return key


def sign(key: bytes, message: bytes) -> bytes:
    """Return the signature of a message."""
    return hmac.digest(key, _CONTEXT + message, hashlib.sha256)


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is that of the message, by the key."""
    return hmac.compare_digest(sign(key, message), signature)
