"""The bytes of commands."""

from collections.abc import Sequence
from typing import Any

from redis.exceptions import DataError


def packed(command: Sequence[Any]) -> list[bytes]:
    """Return the bytes of a command, in parts. Raises DataError for an argument that is no text, number or bytes."""
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        if isinstance(argument, str):
            raw = argument.encode()
        elif isinstance(argument, bytes):
            raw = argument
        elif isinstance(argument, int | float) and not isinstance(argument, bool):
            raw = repr(argument).encode()
        else:
            raise DataError(f"an argument is of type {type(argument).__name__}")
        parts += (b"$%d\r\n" % len(raw), raw, b"\r\n")
    return parts
