"""Cleans text before it is stored, so that it can be encoded as UTF-8.

Text from a peer may have undecodable bytes. Python represents these by lone surrogates, which cannot be encoded.
"""

import re
from dataclasses import replace
from itertools import chain

from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Head

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"[\udc80-\udcff]")
"""Undecodable bytes (`surrogateescape`)."""
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def is_writable(text: str) -> bool:
    """Whether a text can be encoded as UTF-8."""
    return text.isascii() or _SURROGATES.search(text) is None


def cleaned(text: str) -> str:
    """Return the text with each undecodable byte replaced by the Latin-1 character of its value."""
    if is_writable(text):
        return text
    return _SURROGATES.sub("?", _BYTES.sub(lambda found: chr(ord(found[0]) - 0xDC00), text))


def _cleaned_line(text: str) -> str:
    """Clean a text that is sent as a part of a head: remove control characters too."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", cleaned(text))


def cleaned_copy(copy: Copy) -> Copy | None:
    """Return the cleaned copy; None if its URL would change, and so name another object."""
    if not is_writable(copy.url):
        return None
    head = copy.head
    text = head.reason + "".join(chain.from_iterable(head.fields.raw))
    if not (text.isascii() and text.isprintable()):
        lines = tuple((_cleaned_line(name), _cleaned_line(value)) for name, value in head.fields.raw)
        reason = _cleaned_line(head.reason)
        if lines != head.fields.raw or reason != head.reason:
            head = Head(head.status, Fields(lines), reason)
    selecting = tuple((cleaned(n), None if v is None else cleaned(v)) for n, v in copy.selecting)
    personal, own_etag = cleaned(copy.personal), cleaned(copy.own_etag)
    if head is copy.head and (selecting, personal, own_etag) == (copy.selecting, copy.personal, copy.own_etag):
        return copy
    return replace(copy, head=head, selecting=selecting, personal=personal, own_etag=own_etag)


def cleaned_observation(observation: Observation) -> Observation | None:
    """Return the cleaned observation; None if its URL would change."""
    if not is_writable(observation.url):
        return None
    found = observation.fingerprint
    if found is not None and not (is_writable(found.etag) and is_writable(found.body)):
        found = replace(found, etag=cleaned(found.etag), body=cleaned(found.body))
    if found is observation.fingerprint and is_writable(observation.variant):
        return observation
    return replace(observation, variant=cleaned(observation.variant), fingerprint=found)
