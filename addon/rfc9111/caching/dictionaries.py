"""Compression Dictionary Transport (RFC 9842) towards origins: a copy as the dictionary for its own next version."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin

import http_sf

from bestbefore.addon.rfc9111.caching.freshness import forbids_stale
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rfc9111.patterns import matches_stars

USE_AS_DICTIONARY = "use-as-dictionary"
DCZ = "dcz"
"""The content coding: Zstandard with a dictionary. (`dcb` is Brotli's; the brotli package has no dictionaries.)"""
LONGEST = 1024
"""The longest identifier, and the longest pattern, in characters (RFC 9842 2.1.3)."""
_SYNTAX = frozenset("\\:{}()+?#")
"""Characters with a meaning in URL patterns; a pattern with one of them matches nothing here."""
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


def matches(pattern: str, dictionary: Target, target: Target) -> bool:
    """Whether a pattern of a dictionary matches a URL of the same origin (RFC 9842 2.2.2).

    Of URL patterns, paths with `*` for any text are understood; a query is not compared, as the pattern has none.
    """
    origin = f"{dictionary.scheme}://{dictionary.authority}/"
    if f"{target.scheme}://{target.authority}/" != origin or len(pattern) > LONGEST:
        return False
    path = pattern.removeprefix(origin.removesuffix("/")) if pattern.startswith(origin) else pattern
    if not _SYNTAX.isdisjoint(path) or path.startswith("//"):
        return False
    return matches_stars(urljoin(dictionary.path.partition("?")[0], path), target.path.partition("?")[0])


def as_dictionary(request: Request, sent: Request, copy: Copy, now_s: float) -> UseAsDictionary | None:
    """Return how a copy may be the dictionary for the response to a request for the same URL; None if it may not.

    Only over HTTPS, only copies that any client may get, and only for requests of no known user. The copy must be
    fresh, or the origin must not forbid that it is served stale while disconnected (RFC 9842 2.2.1, RFC 9111 4.2.4).
    """
    if request.target.scheme != "https" or request.method != "GET" or "range" in sent.fields:
        return None
    if "cookie" in request.fields or "authorization" in request.fields or of_request(request.fields).no_transform:
        return None
    for_some = copy.client or copy.personal or copy.sets_cookie
    if for_some or copy.fetched_with_cookie or copy.fetched_with_authorization:
        return None
    if copy.head.status != 200 or copy.cache_control.private or copy.cache_control.no_transform:
        return None
    is_fresh = copy.http_expiry_s is not None and now_s < copy.http_expiry_s
    if not is_fresh and forbids_stale(copy.cache_control):
        return None
    use = use_as_dictionary(copy.head.fields)
    return use if use is not None and matches(use.match, Target.parse(copy.url), request.target) else None


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


def digest_of(content: bytes) -> bytes:
    """Return the digest by which a dictionary is named."""
    return hashlib.sha256(content).digest()
