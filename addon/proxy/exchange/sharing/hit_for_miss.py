"""Objects whose last response could not be shared: requests for them do not wait for each other.

Without this, parallel requests for an object that is `private` or `no-store` would wait for one response each time, and
only then make contacts of their own. Varnish calls such an entry "hit-for-miss".
"""

from cachetools import LRUCache

from bestbefore.addon.engine.response import shows_object
from bestbefore.addon.proxy.exchange.sharing.neighbours import Location, Neighbours
from bestbefore.addon.rfc9111.caching.vary import LONGEST, LongFieldError, Names, Values, normalised, selecting_names
from bestbefore.addon.rfc9111.message import Head, Request

REMEMBERED_S = 300.0
"""How long it is remembered that a response could not be shared, policy seconds."""
ERROR_REMEMBERED_S = 10.0
"""Likewise for a response that shows no state of the object, such as a 503: the next one may be shared."""
_APART = frozenset(("cookie", "authorization", "if-none-match", "if-modified-since", "range"))
"""The fields by which requests are remembered apart."""
ENTRIES = 16_384
"""How many variants are remembered."""


class HitForMiss:
    """Remembers the variants whose last response could not be shared.

    Requests with Cookie or credentials, those with a validator of their own, and those for a range are remembered apart
    from others, as their responses may be unshareable for that reason alone.
    """

    def __init__(self) -> None:
        self._names: LRUCache[int, Names] = LRUCache(ENTRIES)
        """The request fields by which the responses of a URL are selected, where requests have waited in vain."""
        self._until_s: LRUCache[int, float] = LRUCache(ENTRIES)
        self._neighbours = Neighbours(REMEMBERED_S)

    def variant(self, request: Request) -> Values | None:
        """Return the values by which a response to this request is selected, as far as known; None if one is too long.

        Requests with different values cannot share a response; one with a value that is too long shares none.
        """
        names = self._names.get(_digest(request.partition, request.target.url), ())
        try:
            return tuple(normalised(name, request.fields) for name in names)
        except LongFieldError:
            return None

    def has(self, request: Request, variant: Values, now_s: float) -> bool:
        """Whether the last response to such a request could not be shared."""
        remaining_s = self._until_s.get(_key(request, variant), 0.0) - now_s
        return 0.0 < remaining_s <= REMEMBERED_S  # the clock may have been set back

    def is_likely(self, request: Request, now_s: float) -> bool:
        """Whether the response to such a request can probably not be shared, judging by others beside it."""
        return self._neighbours.has(_location(request), now_s)

    def add(self, request: Request, head: Head, now_s: float) -> None:
        """Remember that this response could not be shared."""
        self.select(request, head)
        if head.status < 400:  # an error says nothing of others
            self._neighbours.add(_location(request), now_s)
        variant = self.variant(request)
        if variant is not None:
            for_s = REMEMBERED_S if shows_object(head.status) else ERROR_REMEMBERED_S
            self._until_s[_key(request, variant)] = now_s + for_s

    def select(self, request: Request, head: Head) -> None:
        """Remember the request fields that select this response, as a request waited for another variant's."""
        names = selecting_names(head.fields)
        if names and sum(map(len, names)) <= LONGEST:
            self._names[_digest(request.partition, request.target.url)] = names

    def discard(self, request: Request, variant: Values, now_s: float) -> None:
        """Forget an entry, as a response to such a request may be shared."""
        self._until_s.pop(_key(request, variant), None)
        self._neighbours.discard(_location(request), now_s)


def _kind(request: Request) -> tuple[bool, bool, bool]:
    """Return what is remembered apart: whether a request is personal, conditional, and for a range."""
    fields = request.fields
    if fields.names().isdisjoint(_APART):
        return False, False, False
    is_personal = "cookie" in fields or "authorization" in fields
    is_conditional = "if-none-match" in fields or "if-modified-since" in fields
    return is_personal, is_conditional, "range" in fields


def _key(request: Request, variant: Values) -> int:
    return _digest(request.partition, request.target.url, _kind(request), variant)


def _location(request: Request) -> Location:
    url, kept_apart = request.target.url, (request.partition, _kind(request))
    path = url.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return Location(_digest(url), _digest("path", path, *kept_apart), _digest("directory", directory, *kept_apart))


def _digest(*parts: object) -> int:
    """Return what stands for these parts, however long they are.

    Python's hash is enough, in a tenth of the time of a cryptographic one: it is keyed anew in each process, so that
    none can be chosen to be equal, and if two were, requests would only wait for each other once or make contacts of
    their own.
    """
    return hash(parts)
