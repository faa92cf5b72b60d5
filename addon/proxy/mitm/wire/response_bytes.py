"""The bytes of an answer over HTTP/1.1."""

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.rfc9111.message import Head

_BODILESS = (204, 304)


def head_bytes(head: Head, method: str) -> tuple[bytes, bool]:
    """Return the head of a response to a request with this method, and whether its content is sent in chunks."""
    lines, is_framed = "", method == "HEAD" or head.status in _BODILESS or head.status < 200
    for name, value in head.fields.raw:
        lines += f"{name}: {value}\r\n"
        is_framed = is_framed or name.lower() == "content-length"
    if not is_framed:
        lines += "Transfer-Encoding: chunked\r\n"
    return f"HTTP/1.1 {head.status} {head.reason}\r\n{lines}\r\n".encode("latin-1", "replace"), not is_framed


def chunk_bytes(content: bytes, *, is_chunked: bool) -> bytes:
    """Return content as it is sent; empty content is nothing, as an empty chunk ends a response."""
    return b"%x\r\n%b\r\n" % (len(content), content) if is_chunked and content else content


def response_bytes(answer: Answer, method: str) -> bytes:
    """Return the whole response to a request with this method, whose answer has its content in memory.

    They are the bytes that `sending.framed` and mitmproxy make of it.
    """
    head, is_chunked = head_bytes(answer.head, method)
    content = chunk_bytes(answer.body, is_chunked=is_chunked)
    return head + content + LAST_CHUNK if is_chunked else head + content


LAST_CHUNK = b"0\r\n\r\n"
