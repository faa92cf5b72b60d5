import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.admin.sanitize import URL_LIMIT, bare_url, plain_text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://example.org/a?token=secret", "http://example.org/a"),
        ("http://example.org?token=secret", "http://example.org"),
        ("http://me:secret@example.org:81/a@b", "http://example.org:81/a@b"),
        ("http://a@b@example.org/", "http://example.org/"),
        ("http://example.org/a#b?c", "http://example.org/a"),
        ("me:secret@example.org:443", "example.org:443"),
        ("http://example.org/\x1b[2J\x9b1m\r\n\x7f", "http://example.org/%1B[2J%9B1m%0D%0A%7F"),
        ("http://example.org/a b\u00e9", "http://example.org/a%20b%E9"),
        ("http://b\u00fccher.example/\u4e66", "http://b%FCcher.example/%E4%B9%A6"),
        ("http://example.org/\udcff", "http://example.org/%ED%B3%BF"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_secrets_and_without_control_characters(url: str, shown: str) -> None:
    assert bare_url(url) == shown


def test_a_long_url_is_cut() -> None:
    assert bare_url("http://example.org/" + "\x00" * 10_000).endswith("%00%...")
    assert len(bare_url("http://example.org/" + "a" * 10_000)) == URL_LIMIT
    assert bare_url("a" * URL_LIMIT) == "a" * URL_LIMIT


@given(st.text())
@settings(max_examples=300, derandomize=True)
def test_any_url_is_one_short_word_of_printable_ascii(url: str) -> None:
    shown = bare_url(url)
    assert re.fullmatch("[!-~]*", shown)
    assert len(shown) <= URL_LIMIT
    assert "?" not in shown


@given(st.text())
@settings(max_examples=300, derandomize=True)
def test_any_text_is_shown_in_printable_ascii(text: str) -> None:
    assert re.fullmatch("[ -~]*", plain_text(text))


def test_plain_text_is_shown_as_it_is_and_the_rest_escaped() -> None:
    assert plain_text('W/"a b"') == 'W/"a b"'
    assert plain_text("\x1b[2J\u00e9\n") == r"\x1b[2J\xe9\n"
