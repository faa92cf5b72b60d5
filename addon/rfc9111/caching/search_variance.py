"""No-Vary-Search (draft-ietf-httpbis-no-vary-search): which parameters of a query select the response."""

import hashlib
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, unquote_plus

import http_sf

from bestbefore.addon.rfc9111.message import Fields

NO_VARY_SEARCH = "no-vary-search"
MAX_PARAMETERS = 256
"""The most parameters of a query that is compared; one with more is equivalent to itself only."""
LONGEST = 8192
"""The longest query, and the longest field, in characters, that is compared."""

type Parameters = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SearchVariance:
    """The parameters of a query that do not select the response, by the origin's word.

    Names and values are compared as the bytes that percent-encoding stands for. (The draft decodes them as UTF-8 first,
    by which different malformed ones would be equal.)
    """

    names: frozenset[str]
    """The parameters that do not select or, with `all_but`, the only ones that do."""
    all_but: bool
    any_order: bool
    """Whether the order of parameters with different names does not select."""

    @classmethod
    def of(cls, response: Fields) -> Self | None:
        """Return the variance that a response declares.

        None if the whole query selects it: without the field, and if it is malformed or has a member of a wrong type.
        """
        value = response.get(NO_VARY_SEARCH)
        return None if value is None else cls.declared(value)

    @classmethod
    def declared(cls, value: str) -> Self | None:
        """Return the variance that the value of a field declares; None as for `of`."""
        if len(value) > LONGEST:
            return None
        try:
            members: Any = http_sf.parse(value.encode("latin-1", "replace"), tltype="dictionary")
        except (ValueError, OverflowError):
            return None
        any_order, params, excepted = (
            members[key][0] if key in members else default
            for key, default in (("key-order", False), ("params", False), ("except", None))
        )
        if type(any_order) is not bool or (excepted is not None and params is not True):
            return None
        names = _names((excepted or []) if type(params) is bool else params)
        if names is None or not (any_order or params is True or names):
            return None
        return cls(names, params is True, any_order)

    def selecting(self, query: str) -> Parameters | None:
        """Return what of a query, without `?`, selects the response; None if it is too long to be compared."""
        if len(query) > LONGEST:
            return None
        try:
            found = parse_qsl(query, keep_blank_values=True, encoding="latin-1", max_num_fields=MAX_PARAMETERS)
        except ValueError:
            return None
        kept = [(name, value) for name, value in found if (name in self.names) is self.all_but]
        return tuple(sorted(kept, key=lambda pair: pair[0]) if self.any_order else kept)

    def digest(self, query: str) -> str | None:
        """Return a digest of what of a query selects the response; None if the query is too long to be compared."""
        selecting = self.selecting(query)
        return None if selecting is None else hashlib.blake2b(repr(selecting).encode(), digest_size=16).hexdigest()

    def are_equivalent(self, path: str, other: str) -> bool:
        """Whether two paths with their queries, of one origin, get the same response."""
        if path == other:
            return True
        (path, _, query), (other, _, other_query) = path.partition("?"), other.partition("?")
        if path != other:
            return False
        selecting = self.selecting(query)
        return selecting is not None and selecting == self.selecting(other_query)


def _names(members: object) -> frozenset[str] | None:
    """Return the names in an inner list of strings; None for anything else."""
    if not isinstance(members, list) or not all(type(name) is str for name, _ in members):
        return None
    return frozenset(unquote_plus(name, encoding="latin-1") for name, _ in members)
