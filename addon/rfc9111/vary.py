"""Which of several copies of one URL answers a request (RFC 9111 4.1, RFC 9110 12.5.5)."""

import hashlib
import re
from collections.abc import Iterable

from bestbefore.addon.rfc9111.copy import Copy, Selecting
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.rfc9111.personal import cookie_hash
from bestbefore.addon.rfc9111.syntax import is_token, list_members

MAX_NAMES = 64
"""So many request fields may select a response."""
_CREDENTIALS = frozenset(("authorization", "cookie"))
_WEIGHT = re.compile(r"[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*")


def selecting(response: Fields, request: Fields) -> Selecting | None:
    """The values by which a response was selected; None if no other request can match.

    That is so where Vary has a member `*` and, to be safe, one that is no field name, or more than `MAX_NAMES` members,
    which would make work for each later request. Accept-Encoding selects whatever has a Content-Encoding, named by Vary
    or not: origins forget it, and a client must not get what it cannot decode.
    """
    names = {name.lower() for line in response.values("vary") for name in list_members(line)}
    if "*" in names or len(names) > MAX_NAMES or not all(map(is_token, names)):
        return None
    if "content-encoding" in response:
        names.add("accept-encoding")
    return tuple((name, normalised(name, request)) for name in sorted(names))


def matches(copy: Copy, request: Fields) -> bool:
    """Whether the request has the values by which the copy was selected (RFC 9111 4.1)."""
    return all(normalised(name, request) == value for name, value in copy.selecting)


def choose(copies: Iterable[Copy], request: Fields, salt: bytes) -> Copy | None:
    """The copy, of those of one URL and partition, that answers a request; None if none does.

    Of several it is the most recent by Date (RFC 9111 4); but who has a page of his own (`personal.binding`, which
    says what `salt` is) gets that, and not a later one that was for nobody in particular. A copy without Vary is passed
    over where a later one has it (RFC 9111 4.1): the resource is negotiated now.
    """
    negotiated = False
    for copy in sorted(copies, key=_preference, reverse=True):
        if copy.personal and copy.personal != cookie_hash(request, salt):
            continue
        varies = "vary" in copy.head.fields
        if (varies or not negotiated) and matches(copy, request):
            return copy
        negotiated = negotiated or varies
    return None


def _preference(copy: Copy) -> tuple[bool, float, float]:
    return bool(copy.personal), copy.date_s, copy.response_time_s


def variant_key(copy: Copy) -> str:
    """Names the variant within its URL and partition: a new response replaces the copy that has the same key."""
    text = repr((copy.selecting, copy.personal))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def normalised(name: str, request: Fields) -> str | None:
    """A request field so that values that mean the same are equal (RFC 9111 4.1); None if it is absent.

    `name` is in lower case. Credentials are compared to the byte, and kept only as a digest.
    """
    if name == "accept-encoding":
        return accepted_encodings(request)
    lines = request.values(name)
    if not lines:
        return None
    if name in _CREDENTIALS:
        return hashlib.blake2b(repr(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    members = list_members(", ".join(lines))
    return _languages(members) if name == "accept-language" else ",".join(members)


def accepted_encodings(request: Fields) -> str | None:
    """The content codings that a client takes, as one of three: `gzip, br`, `gzip`, or None for neither.

    This is also what is sent to the origin as Accept-Encoding, so that clients that differ only in how they
    write it share copies. A client that takes br and not gzip counts as one that takes neither.
    """
    if "accept-encoding" not in request:
        return None
    weights = dict(map(_weighted, list_members((request.get("accept-encoding") or "").lower())))
    any_other = weights.get("*")
    if not weights.get("gzip", weights.get("x-gzip", any_other)):
        return None
    return "gzip, br" if weights.get("br", any_other) else "gzip"


def _languages(members: list[str]) -> str:
    """By falling weight and in lower case. Equal weights keep their order: many origins serve the first."""
    weighted = [_weighted(member.lower()) for member in members]
    if any(weight is None for _, weight in weighted):
        return ",".join(members)
    weighted.sort(key=lambda member: member[1] or 0.0, reverse=True)
    return ",".join(f"{language};q={weight:g}" for language, weight in weighted)


def _weighted(member: str) -> tuple[str, float | None]:
    """A member and its weight (RFC 9110 12.4.2), 1 without one, None for one that cannot be read."""
    value, semicolon, parameter = member.partition(";")
    if not semicolon:
        return value, 1.0
    weight = _WEIGHT.fullmatch(parameter)
    return value.rstrip(" \t"), None if weight is None else float(weight[1])
