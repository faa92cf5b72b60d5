"""The bytes of an answer over HTTP/1.1."""

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.rfc9111.message import Head

_BODILESS = (204, 304)


def response_bytes(answer: Answer, method: str) -> bytes:
    """Return the whole response to a request with this method, whose answer has its content in memory.

    They are the bytes that `sending.framed` and mitmproxy make of it.
    """
    head = answer.head
    is_framed = method == "HEAD" or head.status in _BODILESS or "content-length" in head.fields
    if is_framed:
        return _head(head, "") + answer.body
    chunk = b"%x\r\n%b\r\n" % (len(answer.body), answer.body) if answer.body else b""
    return _head(head, "Transfer-Encoding: chunked\r\n") + chunk + b"0\r\n\r\n"


def _head(head: Head, framing: str) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in head.fields.raw])
    return f"HTTP/1.1 {head.status} {head.reason}\r\n{lines}{framing}\r\n".encode("latin-1", "replace")
