"""The selection among several copies of one URL (RFC 9111 4.1, RFC 9110 12.5.5)."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter

from bestbefore.addon.rfc9111.caching.personal import cookie_hash
from bestbefore.addon.rfc9111.copy import Copy, Selecting
from bestbefore.addon.rfc9111.fields.connection import HOP_BY_HOP
from bestbefore.addon.rfc9111.fields.syntax import is_token, list_members
from bestbefore.addon.rfc9111.message import Fields

MAX_NAMES = 64
"""The most request fields that may select a response."""
LONGEST = 1024
"""The longest request field, in characters, that may select a response. Credentials, which are not parsed, may be
longer. Browsers send less than 200 characters of Accept-Language."""
NORMALISED_KEPT = 1024
_REPLACED = frozenset(("a-im", "if-none-match"))
"""Fields that the proxy removes or replaces, so that clients' values select nothing: origins of deltas (RFC 3229) name
them in Vary."""
_CREDENTIALS = frozenset(("authorization", "cookie"))
_WEIGHT = re.compile(r"[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*")

type Names = tuple[str, ...]
type Values = tuple[str | None, ...]


class LongFieldError(ValueError):
    """A request field is longer than any that may select a response."""


def selecting_names(response: Fields) -> Names | None:
    """Return the names of the request fields that select a response, in order; None if no other request can match.

    None if Vary has a member `*` or an invalid name, or more than `MAX_NAMES` members, which would cost each later
    request time. Accept-Encoding always selects a response with Content-Encoding: origins forget it in Vary, and a
    client must not get content that it cannot decode.
    """
    names = {name.lower() for line in response.values("vary") for name in list_members(line)}
    if "*" in names or len(names) > MAX_NAMES or not all(map(is_token, names)):
        return None
    names -= _REPLACED
    if "content-encoding" in response:
        names.add("accept-encoding")
    return tuple(sorted(names))


def selecting(response: Fields, request: Fields) -> Selecting | None:
    """Return the names and values that select a response; None if no other request can match or a value is too long."""
    names = selecting_names(response)
    values = None if names is None else _values(names, request, {})
    return None if names is None or values is None else tuple(zip(names, values, strict=True))


def matches(copy: Copy, request: Fields) -> bool:
    """Whether the request has the values by which the copy was selected (RFC 9111 4.1)."""
    try:
        return all(normalised(name, request) == value for name, value in copy.selecting)
    except LongFieldError:
        return False


class Variants(tuple[Copy, ...]):
    """The copies of one URL and partition, indexed so that `choose` is as fast among many as among few.

    The index is built once for many requests.
    """

    @cached_property
    def bound(self) -> dict[str, "_Alternatives"]:
        """The copies by the cookie hash to which they are bound; "" for unbound ones."""
        found: dict[str, _Alternatives] = {}
        for rank, copy in enumerate(sorted(self, key=_preference, reverse=True)):
            found.setdefault(copy.personal, _Alternatives()).add(rank, copy)
        return found

    @cached_property
    def only_for_all(self) -> bool:
        """Whether no copy is bound to a cookie."""
        return self.bound.keys() <= {""}


type _Table = dict[Names, dict[Values, tuple[int, Copy]]]


class _Alternatives:
    """Copies for one Cookie, or for any request, by the values that select them."""

    __slots__ = ("plain", "varying")

    def __init__(self) -> None:
        self.plain: _Table = {}
        """Copies without Vary that are later than all with it."""
        self.varying: _Table = {}

    def add(self, rank: int, copy: Copy) -> None:
        """Add the next copy, in the order of preference."""
        varies = "vary" in copy.head.fields
        if not varies and self.varying:
            return
        table = self.varying if varies else self.plain
        names = tuple(name for name, _ in copy.selecting)
        table.setdefault(names, {}).setdefault(tuple(value for _, value in copy.selecting), (rank, copy))


def choose(copies: Sequence[Copy], request: Fields, salt: bytes) -> Copy | None:
    """Select the copy, among those of one URL and partition, that answers a request; None if none does.

    Among several it is the most recent by Date (RFC 9111 4); but a copy bound to the request's cookie
    (`personal.binding`, also for `salt`) precedes a later unbound one. A copy without Vary is skipped if a later one
    has it (RFC 9111 4.1): the resource is negotiated now.
    """
    if len(copies) == 1:
        only = copies[0]
        is_for_it = not only.personal or only.personal == cookie_hash(request, salt)
        return only if is_for_it and matches(only, request) else None
    variants = copies if isinstance(copies, Variants) else Variants(copies)
    known: dict[str, str | None] = {}
    own = None if variants.only_for_all else variants.bound.get(cookie_hash(request, salt))
    negotiated = False
    for alternatives in (own, variants.bound.get("")):
        if alternatives is None:
            continue
        if not negotiated and (plain := _most_preferred(alternatives.plain, request, known)):
            return plain
        if varying := _most_preferred(alternatives.varying, request, known):
            return varying
        negotiated = negotiated or bool(alternatives.varying)
    return None


def _most_preferred(table: _Table, request: Fields, known: dict[str, str | None]) -> Copy | None:
    found = []
    for names, by_values in table.items():
        values = _values(names, request, known)
        if values is not None and values in by_values:
            found.append(by_values[values])
    return min(found, key=itemgetter(0))[1] if found else None


def _values(names: Iterable[str], request: Fields, known: dict[str, str | None]) -> Values | None:
    """Return the normalised values of these fields, None if one is too long. `known` caches those of this request."""
    values = []
    for name in names:
        if name not in known:
            try:
                known[name] = normalised(name, request)
            except LongFieldError:
                return None
        values.append(known[name])
    return tuple(values)


def _preference(copy: Copy) -> tuple[bool, float, float]:
    return bool(copy.personal), copy.date_s, copy.response_time_s


def variant_key(copy: Copy) -> str:
    """Return the key of the variant in its URL and partition: a new response replaces the copy with the same key."""
    text = repr((copy.selecting, copy.personal, copy.client) if copy.client else (copy.selecting, copy.personal))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def normalised(name: str, request: Fields) -> str | None:
    """Normalise a request field, so that equivalent values are equal (RFC 9111 4.1); None if it is absent.

    `name` is in lower case. Credentials are compared byte by byte, and kept only as a digest. Hop-by-hop fields, which
    are not sent to origins, count as absent. Raises LongFieldError.
    """
    if name == "accept-encoding":
        return accepted_encodings(request)
    lines = request.values(name)
    if not lines or name in HOP_BY_HOP:
        return None
    if name in _CREDENTIALS:
        return hashlib.blake2b(repr(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    if sum(map(len, lines)) > LONGEST:
        raise LongFieldError(f"{name} has more than {LONGEST} characters")
    return _normalised(name == "accept-language", ", ".join(lines))


@lru_cache(maxsize=NORMALISED_KEPT)
def _normalised(are_languages: bool, text: str) -> str:
    members = list_members(text)
    return _languages(members) if are_languages else ",".join(members)


def accepted_encodings(request: Fields) -> str | None:
    """Return the content codings that a client accepts, as one of three: `gzip, br`, `gzip`, or None for neither.

    This is also what is sent to the origin as Accept-Encoding, so that clients that differ only in how they
    write it share copies. A client that takes br and not gzip, or writes more than `LONGEST` characters, counts as one
    that takes neither.
    """
    text = request.get("accept-encoding")
    return None if text is None or len(text) > LONGEST else _accepted(text.lower())


@lru_cache(maxsize=NORMALISED_KEPT)
def _accepted(text: str) -> str | None:
    weights = dict(map(_weighted, list_members(text)))
    any_other = weights.get("*")
    if not weights.get("gzip", weights.get("x-gzip", any_other)):
        return None
    return "gzip, br" if weights.get("br", any_other) else "gzip"


def _languages(members: list[str]) -> str:
    """Return languages by falling weight and in lower case.

    Equal weights keep their order: many origins serve the first.
    """
    weighted = [_weighted(member.lower()) for member in members]
    if any(weight is None for _, weight in weighted):
        return ",".join(members)
    weighted.sort(key=lambda member: member[1] or 0.0, reverse=True)
    return ",".join(f"{language};q={weight:g}" for language, weight in weighted)


def _weighted(member: str) -> tuple[str, float | None]:
    """Parse a member and its weight (RFC 9110 12.4.2): 1 without one, None for a malformed one."""
    value, semicolon, parameter = member.partition(";")
    if not semicolon:
        return value, 1.0
    weight = _WEIGHT.fullmatch(parameter)
    return value.rstrip(" \t"), None if weight is None else float(weight[1])
