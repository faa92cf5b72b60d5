"""The request for an object that the owner watches: it needs neither a copy nor a client that has asked for it."""

from bestbefore.addon.prefetcher.eligibility import Refusal, fetch_of, refused_url
from bestbefore.addon.proxy.access.reach import PUBLIC, Reach, range_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Request, Target


def watched_fetch_of(
    url: str, copies: tuple[Copy, ...], asked_from: tuple[str, ...], user_agent: str
) -> tuple[Request, Reach] | Refusal:
    """Return the request for a watched object, and the addresses it may reach; or the reason for refusing it.

    It is that of `fetch_of` if there is a copy for all clients to validate, else one without any field of a client. A
    private address is reached if the URL itself has it; if a name leads to one, only if a client has asked from there.
    """
    refusal = refused_url(url)
    if refusal is not None:
        return refusal
    target = Target.parse(url)
    own = range_of(target.host)
    found = fetch_of(copies, (*asked_from, own) if own else asked_from, user_agent)
    if found not in (Refusal.NO_COPY, Refusal.PERSONAL):
        return found
    ranges = frozenset((own,)) if own else frozenset(asked_from)
    return Request("GET", target, Fields([("User-Agent", user_agent)])), Reach(ranges) if ranges else PUBLIC
