"""The text that may enter the store: what can be written as UTF-8.

What comes from a peer may hold bytes that no encoding explains; Python keeps these as lone surrogates, which can be
neither packed nor sent to a server.
"""

import re
from dataclasses import replace

from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Head

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"[\udc80-\udcff]")
"""Bytes that were no UTF-8 (`surrogateescape`)."""
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def is_writable(text: str) -> bool:
    """Whether it can be written as UTF-8."""
    return text.isascii() or _SURROGATES.search(text) is None


def cleaned(text: str) -> str:
    """The same as text that can be written: each undecodable byte as the Latin-1 character that it is."""
    if is_writable(text):
        return text
    return _SURROGATES.sub("?", _BYTES.sub(lambda found: chr(ord(found[0]) - 0xDC00), text))


def _cleaned_line(text: str) -> str:
    """Clean a text, without control characters: what is sent as a part of a head."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", cleaned(text))


def cleaned_copy(copy: Copy) -> Copy | None:
    """The copy as it can be written; None if its URL cannot be: to spell that otherwise would name another object."""
    if not is_writable(copy.url):
        return None
    head = copy.head
    lines = tuple((_cleaned_line(name), _cleaned_line(value)) for name, value in head.fields.raw)
    reason = _cleaned_line(head.reason)
    if lines != head.fields.raw or reason != head.reason:
        head = Head(head.status, Fields(lines), reason)
    selecting = tuple((cleaned(n), None if v is None else cleaned(v)) for n, v in copy.selecting)
    personal, own_etag = cleaned(copy.personal), cleaned(copy.own_etag)
    if head is copy.head and (selecting, personal, own_etag) == (copy.selecting, copy.personal, copy.own_etag):
        return copy
    return replace(copy, head=head, selecting=selecting, personal=personal, own_etag=own_etag)


def cleaned_observation(seen: Observation) -> Observation | None:
    """The observation as it can be written; None if its URL cannot be."""
    if not is_writable(seen.url):
        return None
    found = seen.fingerprint
    if found is not None and not (is_writable(found.etag) and is_writable(found.body)):
        found = replace(found, etag=cleaned(found.etag), body=cleaned(found.body))
    if found is seen.fingerprint and is_writable(seen.variant):
        return seen
    return replace(seen, variant=cleaned(seen.variant), fingerprint=found)
