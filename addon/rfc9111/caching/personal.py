"""Responses for a single user without the directives that mark them: who gets them, and their learned freshness.

RFC 9111 lets a shared cache reuse a response to a request with Cookie, but HTTPS sites expect no shared cache. These
rules of the proxy's own restrict reuse.
"""

import hashlib

from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.directives import CacheControl
from bestbefore.addon.rfc9111.message import Fields, Head, Request

_SAME_FOR_ALL = ("image/", "font/", "audio/", "video/", "application/font-")
_SAME_FOR_ALL_TYPES = frozenset((
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/vnd.ms-fontobject",
))


def cookie_hash(fields: Fields, salt: bytes) -> str:
    """Return a salted hash of the Cookie of a request; of the empty value for a request without one."""
    # HTTP/2 may split the field into several lines (RFC 9113 8.2.3).
    cookie = "; ".join(fields.values("cookie"))
    return hashlib.blake2b(cookie.encode("utf-8", "surrogatepass"), key=salt[:64], digest_size=16).hexdigest()


def client_hash(address: str, proxy_credentials: str, fields: Fields, salt: bytes) -> str:
    """Return a salted hash of a client: its address, proxy user, Cookie and Authorization; empty without an address."""
    if not address:
        return ""
    identity = repr((address, proxy_credentials, fields.values("cookie"), fields.values("authorization")))
    return hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), key=salt[:64], digest_size=16).hexdigest()


def binding(request: Request, head: Head, cache_control: CacheControl, salt: bytes) -> str:
    """Return the cookie hash to which a copy of this response is bound, or "" if it may answer any request.

    A response over HTTPS is bound if it was fetched with Cookie or has Set-Cookie; unless it is `public`, has s-maxage,
    or is an image, font, style, script or media type with explicit freshness and no Set-Cookie.
    """
    sets_cookie = "set-cookie" in head.fields
    if request.target.scheme != "https" or not (sets_cookie or "cookie" in request.fields):
        return ""
    if cache_control.public or cache_control.s_maxage is not None:
        return ""
    explicit = cache_control.max_age is not None or "expires" in head.fields
    if explicit and not sets_cookie and _is_same_for_all(head.fields.first("content-type") or ""):
        return ""
    return cookie_hash(request.fields, salt)


def begins_session(request: Request, fields: Fields, cache_control: CacheControl) -> bool:
    """Whether a response over HTTPS sets a cookie for a client that had none.

    It cannot be bound to the Cookie of its request: other clients without a Cookie are other users.
    """
    for_all = cache_control.public or cache_control.s_maxage is not None
    gives = request.target.scheme == "https" and "set-cookie" in fields and "cookie" not in request.fields
    return gives and not for_all


def _is_same_for_all(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip(" \t").lower()
    return media_type.startswith(_SAME_FOR_ALL) or media_type in _SAME_FOR_ALL_TYPES


def may_use_learned_freshness(request: Request, copy: Copy) -> bool:
    """Whether a learned lifetime may apply: not if the fetch or this request has Cookie or credentials.

    Except for a `public` response; but never for one with Set-Cookie.
    """
    if copy.sets_cookie:
        return False
    if copy.cache_control.public:
        return True
    fetched_with = copy.fetched_with_cookie or copy.fetched_with_authorization
    return not (fetched_with or "cookie" in request.fields or "authorization" in request.fields)
