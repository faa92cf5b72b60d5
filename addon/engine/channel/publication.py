"""The decision whether a copy may be sent to other proxies: only what any client may have."""

from enum import StrEnum

from bestbefore.addon.rfc9111.copy import Copy

_CREDENTIALS = frozenset(("cookie", "authorization"))


class Unpublished(StrEnum):
    """The reason why a copy is not sent, for metrics."""

    PERSONAL = "personal"
    """It was fetched with Cookie or credentials, sets a cookie, or is bound to a client."""
    DIRECTIVE = "directive"
    """`private`, `no-store` or `no-cache`."""
    NOT_WHOLE = "not-whole"
    """It is a part, or not a 200."""
    UNVALIDATED = "unvalidated"
    """Only what was observed says that it is the same for all clients: it has neither validator nor lifetime."""
    OUTDATED = "outdated"
    """A HEAD has shown that the origin's content has changed."""
    PRIVATE_ADDRESS = "private-address"
    """It came from an address that is another machine's elsewhere."""
    SECRET_URL = "secret-url"  # noqa: S105 - no password, but the name of a reason
    """Its URL looks like a secret that grants access."""
    TOO_LARGE = "too-large"
    NOT_CHOSEN = "not-chosen"
    """The operator has not chosen it."""


def why_not_published(copy: Copy, *, named: bool, most_bytes: int, is_secret: bool = False) -> Unpublished | None:
    """Return why a copy may not be sent to other proxies; None if it may.

    `named`: the operator has named its host, so that an address or URL that looks private is meant. `most_bytes`: the
    largest content that is sent.
    """
    fetched_with = copy.fetched_with_cookie or copy.fetched_with_authorization
    selects = any(name in _CREDENTIALS for name, _ in copy.selecting)
    if fetched_with or selects or copy.personal or copy.client or copy.partition or copy.sets_cookie:
        return Unpublished.PERSONAL
    given = copy.cache_control
    if given.private or given.private_names or given.no_store or given.no_cache:
        return Unpublished.DIRECTIVE
    if copy.head.status != 200 or copy.part_number:
        return Unpublished.NOT_WHOLE
    if copy.outdated:
        return Unpublished.OUTDATED
    if not copy.has_validator and copy.lifetime is None:
        return Unpublished.UNVALIDATED
    if (copy.local or copy.range) and not named:
        return Unpublished.PRIVATE_ADDRESS
    if is_secret and not named:
        return Unpublished.SECRET_URL
    return Unpublished.TOO_LARGE if copy.body.size > most_bytes else None
