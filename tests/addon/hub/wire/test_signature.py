"""Signatures, and the key."""

from pathlib import Path

import pytest

from bestbefore.addon.errors import InputError
from bestbefore.addon.hub.wire.signature import is_signed, read_key, sign

KEY = b"0123456789abcdef0123456789abcdef"


def test_only_the_key_signs_and_only_what_was_signed_passes() -> None:
    signature = sign(KEY, b"message")
    assert is_signed(KEY, b"message", signature)
    assert not is_signed(KEY, b"message2", signature)
    assert not is_signed(KEY[::-1], b"message", signature)
    assert not is_signed(KEY, b"message", signature[:-1])
    assert not is_signed(KEY, b"message", b"")


def test_the_key_is_read_without_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY + b"\n")
    assert read_key(path) == KEY


@pytest.mark.parametrize("content", [None, b"short\n"])
def test_a_missing_or_short_key_says_how_to_make_one(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="openssl rand -hex 32"):
        read_key(path)
