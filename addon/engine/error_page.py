"""The content of the proxy's own error responses: a line of text or, for browsers, a small HTML page."""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from string import Template

from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
_MAX_URL_CHARACTERS = 2000

_AGAIN = "try again later"
_PROGRAM = "this is a fault of the program that sent the request"
_REASONS: Mapping[str, tuple[str, str]] = {
    "origin-unreachable": ("the server cannot be reached", "check the address, and whether the server runs"),
    "origin-timeout": ("the server did not answer in time", _AGAIN),
    "origin-tls": ("the TLS handshake with the server failed", "ask the operator of the server"),
    "origin-malformed": ("the server's answer could not be read", "ask the operator of the server"),
    "origin-reset": ("the server closed the connection early", _AGAIN),
    "upload-broken-off": ("the content of the request did not arrive", _AGAIN),
    "offline": ("the proxy is offline and has no copy of this", "set offline = false in its configuration"),
    "only-if-cached": ("the request allows a stored copy only, and there is none", "request it without only-if-cached"),
    "loop": ("the request has passed this proxy already", "check the chain of proxies in the configuration"),
    "own-address": ("this address is the proxy's own", ""),
    "stopping": ("the proxy is stopping", _AGAIN),
    "not-allowed": ("the proxy does not allow this request", "ask the operator of the proxy"),
    "too-many-requests": ("the proxy has too many requests in progress", _AGAIN),
    "fault": ("an internal error occurred", "see the log of the proxy"),
    "misdirected": ("the request is for another server than its connection", _PROGRAM),
    "malformed-request": ("the request is malformed", _PROGRAM),
    "wrong-host": ("the request names no host, or several", _PROGRAM),
    "misused-connection": ("the request names fields in Connection that it may not", _PROGRAM),
    "length-without-content": ("the request announces content but has none", _PROGRAM),
}
_PAGE = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>body { font: 1em/1.5 sans-serif; margin: 3em auto; max-width: 40em; padding: 0 1em }
p { overflow-wrap: anywhere } small { color: #666 }</style>
<h1>The proxy could not answer this request</h1>
<p>$url</p>
<p><b>Reason:</b> $reason.</p>
$advice<p><small>bestbefore: $title ($detail)</small></p>
</html>
""")


def error_content(
    fields: Fields, url: str, status: int, detail: str, reason: str = "", advice: str = ""
) -> tuple[str, bytes]:
    """Return media type and content of an error response, in the form that the client's Accept asks for.

    `detail` is the code of the reason; `reason` and `advice` replace the sentences for it.
    """
    general = _REASONS.get(detail, (detail, ""))
    reason, advice = reason or general[0], advice or general[1]
    if not prefers_html(fields):
        return TEXT, f"bestbefore: {reason}{advice and f'; {advice}'}\n".encode()
    values = {"title": f"{status} {HTTPStatus(status).phrase}", "url": url[:_MAX_URL_CHARACTERS]}
    values |= {"reason": reason, "detail": detail}
    page = _PAGE.substitute(
        {name: escape(value) for name, value in values.items()},
        advice=advice and f"<p><b>What to try:</b> {escape(advice)}.</p>\n",
    )
    return HTML, page.encode("utf-8", "replace")


def prefers_html(fields: Fields) -> bool:
    """Whether Accept names text/html, as that of a browser that opens a page does, and does not exclude it."""
    for line in fields.values("accept"):
        for member in list_members(line):
            name, *parameters = (part.strip().lower() for part in member.split(";"))
            if name == "text/html":
                return not any(parameter.startswith("q=0") and not parameter.strip("q=0.") for parameter in parameters)
    return False
