"""The bytes of an answer over HTTP/1.1."""

from bestbefore.addon.proxy.exchange.answer import Answer

_BODILESS = (204, 304)


def response_bytes(answer: Answer, method: str) -> bytes:
    """Return the whole response to a request with this method, whose answer has its content in memory.

    They are the bytes that `sending.framed` and mitmproxy make of it.
    """
    head, lines, is_framed = answer.head, "", method == "HEAD" or answer.head.status in _BODILESS
    for name, value in head.fields.raw:
        lines += f"{name}: {value}\r\n"
        is_framed = is_framed or name.lower() == "content-length"
    if is_framed:
        content = answer.body
    else:
        lines += "Transfer-Encoding: chunked\r\n"
        content = (b"%x\r\n%b\r\n" % (len(answer.body), answer.body) if answer.body else b"") + b"0\r\n\r\n"
    return f"HTTP/1.1 {head.status} {head.reason}\r\n{lines}\r\n".encode("latin-1", "replace") + content
