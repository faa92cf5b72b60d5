import hashlib
import re
import ssl
from html.parser import HTMLParser
from pathlib import Path

import certifi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.proxy.pages.ca_bundle import certificates
from bestbefore.addon.proxy.pages.pages import PageContents, respond
from bestbefore.addon.rfc9111.fields.dates import parse_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

OURS, ROOT, *_ = certificates(Path(certifi.where()).read_bytes())
KEY = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
NOW_S = 1706227238.5  # 00:00:38.5; the clock page last changed at 00:00:20
CHANGED = "Fri, 26 Jan 2024 00:00:20 GMT"

SITE = PageContents(b"<p>index", OURS + b"\n", ROOT + b"\n" + OURS + b"\n")


def ask(path: str, *fields: tuple[str, str], method: str = "GET", now_s: float = NOW_S) -> tuple[Head, bytes]:
    return respond(SITE, Request(method, Target.parse(f"http://bestbefore.test{path}"), Fields(fields)), now_s)


class Elements(HTMLParser):
    """Checks that each element that is opened is closed, and collects links and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder with an awkward name, a certificate beside its key, and a bundle."""
    folder = tmp_path / "state <of> $me"
    folder.mkdir()
    (folder / "ca.pem").write_bytes(KEY + OURS + b"\n")
    (folder / "ca-bundle.pem").write_bytes(SITE.bundle_pem)
    return folder


@pytest.fixture
def site(folder: Path) -> PageContents:
    return PageContents.of("http://127.0.0.1:8080", folder / "ca.pem", folder / "ca-bundle.pem")


def test_the_index_names_the_proxy_its_files_and_the_fingerprint(site: PageContents, folder: Path) -> None:
    page = Elements()
    page.feed(site.index_html.decode())
    page.close()
    assert page.open == []
    assert page.links == ["/clock", "/ca.pem", "/ca-bundle.pem"]
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(OURS.decode())).hexdigest().upper()
    assert digest in page.text.replace(":", "")
    assert str(folder / "ca-bundle.pem") in page.text
    assert f"-in '{folder / 'ca.pem'}'" in page.text
    assert "curl -si --proxy http://127.0.0.1:8080 http://bestbefore.test/clock" in page.text


@pytest.mark.parametrize(
    "client",
    [
        *("Firefox", "Chromium", "Android", "iPhone", "Debian", "Fedora", "macOS"),
        *("curl", "wget", "pip", "npm", "git", "apt", "Java", "Python"),
    ],
)
def test_the_index_has_steps_for(client: str, site: PageContents) -> None:
    assert re.search(rf"<(h3|p)>[^<]*\b{client}\b", site.index_html.decode())


def test_the_index_needs_nothing_from_elsewhere_and_no_script(site: PageContents) -> None:
    assert not re.search(rb"<(script|img|link|iframe)|url\(|@import", site.index_html)


def test_each_link_of_the_index_is_a_page(site: PageContents) -> None:
    page = Elements()
    page.feed(site.index_html.decode())
    for link in page.links:
        assert ask(link)[0].status == 200


def test_a_private_key_beside_the_certificate_is_never_shown(site: PageContents) -> None:
    assert site.ca_pem == OURS + b"\n"


def test_a_file_without_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(KEY)
    with pytest.raises(ValueError, match=r"ca\.pem: contains no certificate"):
        PageContents.of("http://127.0.0.1:8080", tmp_path / "ca.pem", tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("path", "media_type", "content"),
    [
        ("/", "text/html; charset=utf-8", SITE.index_html),
        ("/?from=mail", "text/html; charset=utf-8", SITE.index_html),
        ("/ca.pem", "application/x-x509-ca-cert", SITE.ca_pem),
        ("/ca-bundle.pem", "application/x-pem-file", SITE.bundle_pem),
    ],
)
def test_pages_that_depend_on_this_process_are_never_stored(path: str, media_type: str, content: bytes) -> None:
    head, body = ask(path)
    assert (head.status, body) == (200, content)
    assert head.fields.get("content-type") == media_type
    assert head.fields.get("content-length") == str(len(content))
    assert head.fields.get("cache-control") == "no-store"


@pytest.mark.parametrize("path", ["/x", "/clock/", "/CA.pem", "/ca.key", "/../ca.pem", "//"])
def test_anything_else_is_404_and_not_stored(path: str) -> None:
    head, body = ask(path)
    assert (head.status, head.fields.get("cache-control")) == (404, "no-store")
    assert b"http://bestbefore.test/" in body


@pytest.mark.parametrize("path", ["/", "/clock", "/x"])
def test_other_methods_are_405(path: str) -> None:
    head, _ = ask(path, method="POST")
    assert (head.status, head.fields.get("allow")) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/ca.pem", "/clock", "/x"])
def test_head_has_the_fields_of_get_and_no_content(path: str) -> None:
    assert ask(path, method="HEAD") == (ask(path)[0], b"")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", ["/", "/ca.pem", "/ca-bundle.pem", "/clock", "/x"])
def test_no_page_is_to_be_taken_for_another_type(path: str, method: str) -> None:
    fields = ask(path, method=method)[0].fields
    assert fields.get("x-content-type-options") == "nosniff"
    assert fields.get("content-type")


def test_the_clock_says_when_it_changed_and_leaves_its_lifetime_to_the_policy() -> None:
    head, body = ask("/clock")
    assert head.fields.get("last-modified") == CHANGED
    assert head.fields.names() == {"last-modified", "content-type", "content-length", "x-content-type-options"}
    assert head.fields.get("content-type") == "text/plain; charset=utf-8"
    assert CHANGED in body.decode()
    assert "next at Fri, 26 Jan 2024 00:00:40 GMT" in body.decode()


@given(st.floats(0, 2e11), st.floats(0, 60))
@settings(max_examples=300, derandomize=True)
def test_the_clock_changes_exactly_when_its_last_modified_does(now_s: float, later_s: float) -> None:
    head, body = ask("/clock", now_s=now_s)
    later_head, later_body = ask("/clock", now_s=now_s + later_s)
    changed = head.fields.get("last-modified") != later_head.fields.get("last-modified")
    assert changed == (body != later_body) == (now_s // 20 != (now_s + later_s) // 20)
    modified_s = parse_http_date(head.fields.get("last-modified") or "", now_s)
    assert modified_s is not None
    assert 0 <= now_s - modified_s < 20


@pytest.mark.parametrize(
    "fields",
    [
        [("If-Modified-Since", CHANGED)],
        [("If-Modified-Since", "Fri, 26 Jan 2024 00:00:39 GMT")],
        [("If-Modified-Since", "Friday, 26-Jan-24 00:00:20 GMT")],
        [("If-None-Match", "*")],
    ],
)
def test_an_unchanged_clock_answers_a_condition_with_304(fields: list[tuple[str, str]]) -> None:
    head, body = ask("/clock", *fields)
    assert (head.status, body) == (304, b"")
    assert head.fields.raw == (("Last-Modified", CHANGED),)


@pytest.mark.parametrize(
    "fields",
    [
        [("If-Modified-Since", "Fri, 26 Jan 2024 00:00:19 GMT")],
        [("If-Modified-Since", "yesterday")],
        [("If-Modified-Since", CHANGED), ("If-Modified-Since", CHANGED)],
        [("If-None-Match", '"x"'), ("If-Modified-Since", CHANGED)],
    ],
)
def test_a_condition_that_does_not_hold_gets_the_clock(fields: list[tuple[str, str]]) -> None:
    assert ask("/clock", *fields) == ask("/clock")
