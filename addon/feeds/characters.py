"""Decodes the text of feeds, whose declared encoding is often wrong."""

import codecs
import re

_SPACE = " \t\r\n"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_KNOWN = ("iso-8859-", "windows-", "cp12", "koi8-", "gb", "big5", "euc-", "shift_jis", "shift-jis", "iso-2022-", "mac")
"""Encodings used by feeds. Some others that Python supports take very long to decode."""

_BEGINS = re.compile(rb"\s*(?:[<{]|\Z)|" + b"|".join(map(re.escape, _MARKS)))


def may_begin_markup(start: bytes) -> bool:
    """Whether text with this start may begin with a tag, or a JSON object, in the result of `as_utf8`.

    It decodes nothing, since most content that passes through a proxy begins otherwise.
    """
    return _BEGINS.match(start) is not None


def as_utf8(body: bytes) -> bytes:
    """Convert text to UTF-8, without byte order mark and leading space; replace undecodable bytes.

    Text that is valid UTF-8 is taken for UTF-8, whatever is declared; else the encoding is that of the byte order mark
    or the declaration. Without these, or if they are wrong, it is windows-1252, as in web browsers. Never raises.
    """
    for mark, encoding in _MARKS.items():
        if body.startswith(mark):
            return _encoded(body[len(mark) :], encoding)
    try:
        return body.decode("utf-8").lstrip(_SPACE).encode("utf-8")
    except UnicodeDecodeError:
        found = _DECLARED.match(body)
        declared = found[1].decode("ascii").lower() if found else ""
        return _encoded(body, declared if declared.startswith(_KNOWN) else "windows-1252")


def _encoded(body: bytes, encoding: str) -> bytes:
    try:
        text = body.decode(encoding, "replace")
    except LookupError:
        text = body.decode("windows-1252", "replace")
    return text.lstrip(_SPACE).encode("utf-8", "replace")
