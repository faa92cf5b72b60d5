"""The identity of a proxy, kept in its state directory."""

import secrets
from pathlib import Path

from bestbefore.addon.errors import reason_of
from bestbefore.addon.proxy.start_error import StartError

NAME_BYTES = 4
SALT_BYTES = 32


def read_identity(state: Path) -> tuple[bytes, bytes]:
    """Return pseudonym and salt of the proxy with this state directory; create them if missing.

    Raises StartError.
    """
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _read_or_create(state / "proxy-id", NAME_BYTES), _read_or_create(state / "salt", SALT_BYTES)
    except OSError as error:
        raise StartError(f"state directory {state} cannot be used: {reason_of(error)}") from None


def _read_or_create(path: Path, size: int) -> bytes:
    try:
        kept = bytes.fromhex(path.read_text("ascii"))
    except (OSError, ValueError):
        kept = b""
    if len(kept) != size:
        kept = secrets.token_bytes(size)
        path.touch(mode=0o600)
        path.write_text(kept.hex(), "ascii")
    return kept
