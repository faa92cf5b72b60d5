"""Compression Dictionary Transport (RFC 9842) towards origins: copies as dictionaries for what they send next."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import http_sf

from bestbefore.addon.rfc9111.caching import url_pattern
from bestbefore.addon.rfc9111.caching.freshness import forbids_stale
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

USE_AS_DICTIONARY = "use-as-dictionary"
DCZ = "dcz"
"""The content coding: Zstandard with a dictionary. (`dcb` is Brotli's; the brotli package has no dictionaries.)"""
LONGEST = 1024
"""The longest identifier, and the longest pattern, in characters (RFC 9842 2.1.3)."""
_OF_THE_CODED_CONTENT = frozenset((
    *("content-encoding", "content-length", "content-digest", "content-md5", "repr-digest"),
))


@dataclass(frozen=True, slots=True)
class UseAsDictionary:
    """The origin's permission to use a response as a dictionary."""

    match: str
    """The pattern of the URLs for which it may be used, relative to its own."""
    id: str = ""
    """What the client sends back with the digest."""


class DictionaryCandidate(NamedTuple):
    """A copy that may be a dictionary, by what selects it."""

    url: str
    match: str
    received_s: float

    @classmethod
    def of(cls, copy: Copy) -> Self | None:
        """Return the candidate that a copy is; None if it is not for any client, or its origin does not allow it."""
        use = use_as_dictionary(copy.head.fields) if USE_AS_DICTIONARY in copy.head.fields else None
        if use is None or not copy.url.startswith("https:") or not _is_for_any_client(copy):
            return None
        return cls(copy.url, use.match, copy.response_time_s)


def selected(candidates: Iterable[DictionaryCandidate], target: Target) -> list[DictionaryCandidate]:
    """Return the candidates for a URL by precedence (RFC 9842 2.2.3): the longest pattern, then the latest."""
    fitting = (one for one in candidates if url_pattern.matches(one.match, Target.parse(one.url), target))
    return sorted(fitting, key=lambda one: (len(one.match), one.received_s), reverse=True)


def use_as_dictionary(fields: Fields) -> UseAsDictionary | None:
    """Parse Use-As-Dictionary (RFC 9842 2.1); None if it is absent, malformed or of an unknown type."""
    value = fields.get(USE_AS_DICTIONARY)
    if value is None or len(value) > 4 * LONGEST:
        return None
    try:
        members: Any = http_sf.parse(value.encode("latin-1", "replace"), tltype="dictionary")
    except (ValueError, OverflowError):
        return None
    match, name = (members[key][0] if key in members else "" for key in ("match", "id"))
    kind = str(members["type"][0]) if "type" in members else "raw"
    if type(match) is not str or type(name) is not str or not match or len(name) > LONGEST or kind != "raw":
        return None
    return UseAsDictionary(match, name)


def may_offer(request: Request, sent: Request) -> bool:
    """Whether a request may offer a dictionary: only over HTTPS, and only for a whole response to no known user."""
    if request.target.scheme != "https" or request.method != "GET" or "range" in sent.fields:
        return False
    is_anonymous = "cookie" not in request.fields and "authorization" not in request.fields
    return is_anonymous and not of_request(request.fields).no_transform


def _is_for_any_client(copy: Copy) -> bool:
    for_some = copy.client or copy.personal or copy.sets_cookie or copy.cache_control.private
    return not (for_some or copy.fetched_with_cookie or copy.fetched_with_authorization)


def as_dictionary(request: Request, copy: Copy, now_s: float) -> UseAsDictionary | None:
    """Return how a copy may be the dictionary for the response to a request that may offer one; None if it may not.

    Only complete copies that any client may get. The copy must be fresh, or the origin must not forbid that it is
    served stale while disconnected (RFC 9842 2.2.1, RFC 9111 4.2.4).
    """
    if not _is_for_any_client(copy) or copy.head.status != 200 or copy.part_number or copy.cache_control.no_transform:
        return None
    is_fresh = copy.http_expiry_s is not None and now_s < copy.http_expiry_s
    if not is_fresh and forbids_stale(copy.cache_control):
        return None
    use = use_as_dictionary(copy.head.fields)
    return use if use is not None and url_pattern.matches(use.match, Target.parse(copy.url), request.target) else None


def offering(sent: Request, digest: bytes, use: UseAsDictionary) -> Request:
    """Return the request to the origin with the offer of a dictionary; `digest` is its SHA-256."""
    codings = ", ".join([*sent.fields.values("accept-encoding"), DCZ])
    fields = sent.fields.replaced("Accept-Encoding", codings)
    fields = fields.replaced("Available-Dictionary", http_sf.ser((digest, {})))
    if use.id:
        fields = fields.replaced("Dictionary-ID", http_sf.ser((use.id, {})))
    return replace(sent, fields=fields)


def is_coded(head: Head) -> bool:
    """Whether the content of a response is coded with the dictionary that was offered."""
    return (head.fields.get("content-encoding") or "").strip(" \t").lower() == DCZ


def decoded_head(head: Head) -> Head:
    """Return the head of a response whose content has been decoded.

    Its strong entity tag, which is that of the coded content, becomes weak.
    """
    lines = []
    for name, value in head.fields.raw:
        if name.lower() == "etag" and value.startswith('"'):
            value = f"W/{value}"
        if name.lower() not in _OF_THE_CODED_CONTENT:
            lines.append((name, value))
    return replace(head, fields=Fields(lines))


def recoded_head(head: Head) -> Head:
    """Return the head of decoded content that is coded with gzip for the clients that accept it."""
    fields = head.fields.replaced("Content-Encoding", "gzip")
    varying = {name.lower() for line in fields.values("vary") for name in list_members(line)}
    if varying.isdisjoint(("*", "accept-encoding")):
        fields = fields.added(("Vary", "Accept-Encoding"))
    return replace(head, fields=fields)


def digest_of(content: bytes) -> bytes:
    """Return the digest by which a dictionary is named."""
    return hashlib.sha256(content).digest()
