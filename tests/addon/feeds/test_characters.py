"""Encodings, declared rightly, wrongly or not at all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds.characters import as_utf8, may_begin_markup

TEXT = "<rss>é€</rss>"


@pytest.mark.parametrize("declared", ["utf-8", "us-ascii", "iso-8859-1", "nonsense"])
def test_what_can_be_utf_8_is_whatever_is_declared(declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>{TEXT}'
    assert as_utf8(text.encode()).decode() == text


@pytest.mark.parametrize(
    ("declared", "real"),
    [("windows-1252", "cp1252"), ("utf-8", "cp1252"), ("rot13", "cp1252"), ("punycode", "cp1252"),
     ("iso-8859-15", "iso-8859-15"), ("gb18030", "gb18030"), ("mac-nonsense", "cp1252")],
)  # fmt: skip
def test_what_cannot_be_is_what_is_declared_or_windows_1252(declared: str, real: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>{TEXT}'
    assert as_utf8(text.encode(real)).decode() == text


def test_a_byte_order_mark_says_more_than_a_declaration() -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        assert as_utf8(f" \n{TEXT}".encode(encoding)).decode() == TEXT


@settings(max_examples=100, derandomize=True)
@given(st.one_of(st.binary(), st.binary().map(lambda more: b'<?xml version="1.0" encoding="euc-jp"?>' + more)))
def test_any_bytes_become_text(body: bytes) -> None:
    as_utf8(body).decode("utf-8")


_PIECES = st.sampled_from((
    *(b"<", b"{", b" ", b"\n", b"\f", b"x", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1b(B", b"\0"),
))


@settings(max_examples=200, derandomize=True)
@given(st.lists(_PIECES | st.binary(max_size=2)).map(b"".join))
def test_text_that_begins_otherwise_than_markup_is_seen_without_decoding_it(body: bytes) -> None:
    assert may_begin_markup(body) or as_utf8(body)[:1] not in (b"", b"<", b"{")
