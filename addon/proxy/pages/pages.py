"""The host bestbefore.test, which the proxy itself answers: the certificate, how to trust it, and a clock to try it on.

A pure function of the request and the time. The pages walk through the engine like those of any origin, so their
fields say what a cache may do with them: the certificate and its page must not outlive the process that made them,
and the clock has no lifetime at all, so that the policy decides.
"""

import hashlib
import shlex
import ssl
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Self

from bestbefore.addon.proxy.pages.ca_bundle import certificates
from bestbefore.addon.rfc9111.fields.dates import format_http_date, parse_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request

HOST = "bestbefore.test"
CLOCK_PERIOD_S = 20
"""The clock page changes at each multiple of this, in seconds of policy time."""

_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_CERTIFICATE = "application/x-x509-ca-cert"  # browsers offer to import what bears it
_NO_STORE = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True)
class PageContents:
    """The contents of the proxy's pages."""

    index_html: bytes
    ca_pem: bytes
    bundle_pem: bytes

    @classmethod
    def of(cls, proxy_url: str, ca_file: Path, bundle_file: Path) -> Self:
        """Make the contents from the proxy's URL for clients, and the files of its certificate and of the bundle.

        Reads the files; raises OSError if it cannot, and ValueError if there is no certificate. A private key
        that lies beside the certificate in its file is never shown.
        """
        ours = certificates(ca_file.read_bytes())
        if not ours:
            raise ValueError(f"{ca_file}: contains no certificate")
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(ours[0].decode("ascii"))).digest()
        values = {
            "proxy": proxy_url,
            "clock_period": str(CLOCK_PERIOD_S),
            "state": str(ca_file.parent),
            "state_word": shlex.quote(str(ca_file.parent)),
            "bundle": str(bundle_file),
            "ca": shlex.quote(str(ca_file)),
            "fingerprint": digest.hex(":").upper(),
        }
        template = Template(files("bestbefore.addon.proxy.pages").joinpath("bestbefore_test.html").read_text("utf-8"))
        html = template.substitute({name: escape(value) for name, value in values.items()})
        return cls(html.encode("utf-8", "replace"), ours[0] + b"\n", bundle_file.read_bytes())


def respond(site: PageContents, request: Request, now_s: float) -> tuple[Head, bytes]:
    """Return the response to a request for this host: its head, which bears Content-Length, and its content.

    It bears no Date. A Date counts whole seconds, and the age that a cache infers from the lost fraction would eat
    most of the second or two for which the clock is fresh. The recipient of a response without it records the moment
    itself (RFC 9110 6.6.1), and here that is the same process.
    """
    pages = {
        "/": (_HTML, site.index_html),
        "/ca.pem": (_CERTIFICATE, site.ca_pem),
        "/ca-bundle.pem": ("application/x-pem-file", site.bundle_pem),
    }
    path = request.target.path.partition("?")[0]
    if request.method not in ("GET", "HEAD"):
        text = b"This host knows GET and HEAD only.\n"
        head, content = _page(405, "Method Not Allowed", _TEXT, text, _NO_STORE, ("Allow", "GET, HEAD"))
    elif path == "/clock":
        head, content = _clock(request.fields, now_s)
    elif path in pages:
        head, content = _page(200, "OK", *pages[path], _NO_STORE)
    else:
        text = b"There is no such page. See http://bestbefore.test/\n"
        head, content = _page(404, "Not Found", _TEXT, text, _NO_STORE)
    return head, b"" if request.method == "HEAD" else content


def _clock(conditions: Fields, now_s: float) -> tuple[Head, bytes]:
    """Return the page whose content is the time of its last change.

    It has no entity tag: Last-Modified tells a cache exactly when the page changed, as that of most static files
    and feeds does, and what is learnt from it is to be seen here.
    """
    modified_s = now_s // CLOCK_PERIOD_S * CLOCK_PERIOD_S
    last_modified = ("Last-Modified", format_http_date(modified_s))
    if _is_unchanged(conditions, modified_s, now_s):
        return Head(304, Fields([last_modified]), "Not Modified"), b""
    text = (
        "A page for trying bestbefore, with Last-Modified and without any lifetime.\n"
        f"It shows {last_modified[1]}\n"
        f"and changes every {CLOCK_PERIOD_S} s, next at {format_http_date(modified_s + CLOCK_PERIOD_S)}.\n"
    )
    return _page(200, "OK", _TEXT, text.encode(), last_modified)


def _page(status: int, reason: str, media_type: str, content: bytes, *lines: tuple[str, str]) -> tuple[Head, bytes]:
    described = (("Content-Type", media_type), ("X-Content-Type-Options", "nosniff"))
    fields = Fields((*lines, *described, ("Content-Length", str(len(content)))))
    return Head(status, fields, reason), content


def _is_unchanged(conditions: Fields, modified_s: float, now_s: float) -> bool:
    """Whether the answer to these conditions is 304 (RFC 9110 13.2.2, for a page without entity tag)."""
    tags = conditions.get("if-none-match")
    if tags is not None:
        return tags.strip() == "*"
    since = conditions.values("if-modified-since")
    since_s = parse_http_date(since[0], now_s) if len(since) == 1 else None
    return since_s is not None and modified_s <= since_s
