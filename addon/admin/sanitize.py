"""Sanitizes text from the network for output: no control characters on a terminal, no secrets in a log."""

import re

URL_LIMIT = 500
"""Longer URLs are cut to this many characters in a log."""
LONG_URL_LIMIT = 8000
"""The same in a log that programs read."""

_NOT_A_WORD = re.compile(r"[^\x21-\x7e]")
_NOT_TEXT = re.compile(r"[^\x20-\x7e]")


def bare_url(url: str, limit: int = URL_LIMIT) -> str:
    r"""The URL without user information, query and fragment, in printable ASCII, at most `limit` characters.

    A URL comes from a client and may hold anything; on a terminal a control character (also those of 0x80 to 0x9f)
    could move the cursor or worse.

    >>> bare_url("http://me:secret@example.org/a\\x1b[2Jb?token=1")
    'http://example.org/a%1B[2Jb'
    """
    url = url.partition("?")[0].partition("#")[0]
    if "@" in url:
        scheme, separator, rest = url.partition("://")
        if not separator:  # the authority of a CONNECT
            scheme, rest = "", url
        authority, slash, path = rest.partition("/")
        url = scheme + separator + authority.rpartition("@")[2] + slash + path
    shown = plain_word(url[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def logged_url(url: str, *, keep_query: bool) -> str:
    """The URL for a log that programs read: as `bare_url`, but longer, and with its query if that is wanted."""
    head, mark, query = url.partition("?")
    kept = plain_word(query.partition("#")[0][:LONG_URL_LIMIT]) if keep_query and mark else ""
    return bare_url(head, LONG_URL_LIMIT) + (mark + kept if keep_query else "")


def plain_word(text: str) -> str:
    """Percent-encode each character that is not printable ASCII, and each blank.

    A character up to 0xff stands for one byte, as in the paths of `rfc9111.message`; a later one for its UTF-8.
    """
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return _NOT_A_WORD.sub(_percent_encoded, text)


def plain_text(text: str) -> str:
    """Escape each character that is not printable ASCII; keep blanks."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_TEXT.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def _percent_encoded(match: re.Match[str]) -> str:
    character = match.group()
    octets = character.encode("latin-1" if character <= "\xff" else "utf-8", "surrogatepass")
    return "".join(f"%{octet:02X}" for octet in octets)
