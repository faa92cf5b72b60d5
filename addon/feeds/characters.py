"""The characters of a feed, whatever it says of its encoding: what is declared is often wrong."""

import codecs
import re

_SPACE = " \t\r\n"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_KNOWN = ("iso-8859-", "windows-", "cp12", "koi8-", "gb", "big5", "euc-", "shift_jis", "shift-jis", "iso-2022-", "mac")
"""Encodings that feeds are really written in. Some of the others that Python knows take very long to decode."""


def as_utf8(body: bytes) -> bytes:
    """The same text in UTF-8, without byte order mark and leading space; what cannot be decoded is replaced.

    What can be read as UTF-8 is UTF-8, whatever is declared; else it is what a mark or the declaration says. Without
    these, or where they cannot be true, it is windows-1252, as for every web browser. Never fails.
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
