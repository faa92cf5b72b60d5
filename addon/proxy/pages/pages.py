"""The pages of bestbefore.test, a host that the proxy itself answers: its certificate, and a clock page for trials.

The response is a pure function of the request and the time. The engine handles the pages like those of any origin: the
certificate and its page have `no-store`, as they must not outlive the process that made them, and the clock page has no
explicit lifetime, so that the policy decides.
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
_CERTIFICATE = "application/x-x509-ca-cert"  # browsers offer to import content of this type
_NO_STORE = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True)
class PageContents:
    """The contents of the proxy's pages."""

    index_html: bytes
    ca_pem: bytes
    bundle_pem: bytes

    @classmethod
    def of(cls, proxy_url: str, ca_file: Path, bundle_file: Path, dashboard_url: str | None = None) -> Self:
        """Create the contents from the proxy's URL and the files of its certificate and CA bundle.

        `dashboard_url`: None if there is none. Raises OSError if a file cannot be read, and ValueError if there is no
        certificate. A private key in the file of the certificate is left out.
        """
        ours = certificates(ca_file.read_bytes())
        if not ours:
            raise ValueError(f"{ca_file}: contains no certificate")
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(ours[0].decode("ascii"))).digest()
        values = {
            "proxy": proxy_url,
            "clock_period": str(CLOCK_PERIOD_S),
            "dashboard": dashboard_url or "",
            "hidden": "" if dashboard_url else "hidden",
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
    """Return the response to a request for this host: its head, which has Content-Length, and its content.

    It has no Date. A Date counts whole seconds, so the age inferred from it could be most of the second or two for
    which the clock page is fresh. A recipient of a response without Date records the time itself (RFC 9110 6.6.1).
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

    It has no entity tag: the page shows how the proxy learns from Last-Modified, which most static files and feeds
    have.
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
    """Whether these conditions require a 304 (RFC 9110 13.2.2, for a page without entity tag)."""
    tags = conditions.get("if-none-match")
    if tags is not None:
        return tags.strip() == "*"
    since = conditions.values("if-modified-since")
    since_s = parse_http_date(since[0], now_s) if len(since) == 1 else None
    return since_s is not None and modified_s <= since_s
