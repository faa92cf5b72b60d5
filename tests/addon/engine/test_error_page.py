"""What the proxy's own errors say, as text and as a page."""

import pytest

from bestbefore.addon.engine.error_page import HTML, TEXT, error_content, prefers_html
from bestbefore.addon.proxy.origin.contact import Failure
from bestbefore.addon.rfc9111.message import Fields

BROWSER = Fields([("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")])


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (BROWSER.get("accept"), True),
        ("TEXT/HTML ; q=0.3", True),
        ("text/html;q=0", False),
        ("text/html;q=0.00, */*", False),
        ("image/avif,image/webp,*/*;q=0.8", False),
        ("*/*", False),
        ("", False),
        (None, False),
    ],
)
def test_only_who_names_html_gets_it(accept: str | None, html: bool) -> None:
    assert prefers_html(Fields([] if accept is None else [("Accept", accept)])) is html


def test_a_text_is_one_line_with_advice() -> None:
    media_type, content = error_content(Fields(), "http://a/", 502, "origin-reset", "a broke", "mend it")
    assert (media_type, content) == (TEXT, b"bestbefore: a broke; mend it\n")
    _, content = error_content(Fields(), "http://a/", 403, "own-address")
    assert content == b"bestbefore: this address is the proxy's own\n"


def test_a_page_has_url_reason_and_advice_all_escaped_and_no_script() -> None:
    url = "http://a/<script>alert(1)</script>?" + "x" * 10_000
    media_type, content = error_content(BROWSER, url, 502, "origin-tls", "<b>why</b>", "<i>what</i>")
    page = content.decode()
    assert media_type == HTML
    assert "http://a/&lt;script&gt;alert(1)&lt;/script&gt;?xx" in page
    assert "&lt;b&gt;why&lt;/b&gt;" in page
    assert "&lt;i&gt;what&lt;/i&gt;" in page
    assert "502 Bad Gateway (origin-tls)" in page
    assert "<script" not in page
    assert len(page) < 4_000


@pytest.mark.parametrize("failure", Failure)
def test_each_failure_has_a_sentence(failure: Failure) -> None:
    _, content = error_content(Fields(), "http://a/", failure.status, failure)
    assert str(failure) not in content.decode()
