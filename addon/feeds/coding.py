"""Decodes a Content-Encoding, up to a size. Decoded content is only parsed, never stored or forwarded."""

import zlib

import brotli

_CHUNK_BYTES = 64 * 1024
_MEMBERS_AT_MOST = 1024
"""The most members of a gzip file: each copies the rest, so the work grows with the square of their number."""


def decoded(content: bytes, content_encoding: str, limit: int) -> bytes | None:
    """Decode content (RFC 9110 8.4.1); None if the coding is unknown (not gzip, br, deflate or none) or broken.

    A gzip file of more than `_MEMBERS_AT_MOST` members counts as broken. None also if the result exceeds `limit` bytes;
    decoding stops there.
    """
    coding = content_encoding.strip(" \t").lower()
    try:
        match coding:
            case "" | "identity":
                return content if len(content) <= limit else None
            case "gzip" | "x-gzip":
                return _inflated(content, 31, limit)
            case "deflate":
                return _inflated(content, _deflate_wbits(content), limit)
            case "br":
                return _unbrotlied(content, limit)
    except (zlib.error, brotli.error):
        pass
    return None


def _deflate_wbits(content: bytes) -> int:
    """Return zlib's window bits: RFC 9110 requires a zlib stream, but some servers send raw deflate."""
    return 15 if content[:1] and content[0] & 0x0F == 8 else -15


def _inflated(content: bytes, wbits: int, limit: int) -> bytes | None:
    whole = b""
    for _ in range(_MEMBERS_AT_MOST):
        inflater = zlib.decompressobj(wbits)
        whole += inflater.decompress(content, limit + 1 - len(whole))
        if len(whole) > limit or not inflater.eof:
            return None
        content = inflater.unused_data
        if wbits != 31 or not content.startswith(b"\x1f\x8b"):  # the rest, if any, is not a gzip member
            return whole
    return None


def _unbrotlied(content: bytes, limit: int) -> bytes | None:
    decoder, whole, size = brotli.Decompressor(), [], 0
    piece = decoder.process(content, output_buffer_limit=_CHUNK_BYTES)
    while True:
        whole.append(piece)
        size += len(piece)
        if size > limit:
            return None
        if decoder.is_finished():
            return b"".join(whole)
        piece = decoder.process(b"", output_buffer_limit=_CHUNK_BYTES)
        if not piece and not decoder.is_finished():
            return None  # truncated


def start_of(content: bytes, content_encoding: str, size: int) -> bytes:
    """Decode at least the first `size` bytes of the content, or all of it if it is shorter.

    Empty if the coding is broken.
    """
    try:
        match content_encoding.strip(" \t").lower():
            case "" | "identity":
                return content[:size]
            case "gzip" | "x-gzip":
                return zlib.decompressobj(31).decompress(content, size)
            case "deflate":
                return zlib.decompressobj(_deflate_wbits(content)).decompress(content, size)
            case "br":
                started: bytes = brotli.Decompressor().process(content, output_buffer_limit=size)
                return started
    except (zlib.error, brotli.error):
        pass
    return b""
