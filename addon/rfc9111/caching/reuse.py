"""The decision on the reuse of a copy: serve it, or validate it first (RFC 9111 4, 4.2.4, 5.2.1).

The policy's verdict decides within what RFC 9111 permits (or, with `override` and at the user's own risk, beyond it).
"""

from enum import StrEnum
from typing import NamedTuple, Protocol

from bestbefore.addon.rfc9111.caching.freshness import forbids_stale, heuristics_allowed
from bestbefore.addon.rfc9111.caching.personal import may_use_learned_freshness
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.directives import CacheControl
from bestbefore.addon.rfc9111.message import Request

HUB = "hub"
"""The reason of an expiry that a hub's channel has delayed."""
SIBLING = "sibling"
"""The reason of a validation before the policy's expiry, because another object of the site has changed."""
CLOCK_TOLERANCE_S = 60.0
"""A copy received further in the future than this shows that the clock was set back; less is skew between proxies."""


class Terms(Protocol):
    """The settings of a domain's rule for reuse."""

    @property
    def obey(self) -> str:
        """`strict`, `shorten` or `override`."""

    @property
    def override(self) -> frozenset[str]:
        """Directives that `override` may lengthen too: no-cache, must-revalidate, proxy-revalidate, s-maxage."""

    @property
    def learn_without_validator(self) -> str:
        """Which copies without validator may have learned freshness: `learn` (if `Copy.learned`), `always`, `never`."""

    @property
    def stale_if_down_s(self) -> float | None:
        """How long after its expiry a copy may be served while the origin is down, s."""


class Action(StrEnum):
    """The action to take with the copy."""

    FRESH = "fresh"
    """Serve it."""
    STALE = "stale"
    """Serve it although it has expired."""
    STALE_WHILE_REVALIDATE = "stale-while-revalidate"
    """Serve it, and validate it in the background (RFC 5861 3)."""
    VALIDATE = "validate"
    """Validate it first."""


class Reuse(NamedTuple):
    """The decision on a copy."""

    action: Action
    reason: str
    """The directive, field, policy or circumstance that decided."""
    age_s: float
    ttl_s: float | None
    """The time until the expiry, s; 0 or less after it, None if there is none."""
    fwd: Fwd | None = None
    """Why the origin is contacted; None if it is not."""


class Expiry(NamedTuple):
    """The time until which a copy may be served without contact."""

    expiry_s: float | None
    """The first moment at which it may not; None: each request needs a contact."""
    reason: str


def decide(
    request: Request,
    asked: CacheControl,
    copy: Copy,
    now_s: float,
    terms: Terms,
    current_until_s: float | None = None,
    outdated_s: float | None = None,
) -> Reuse:
    """Decide on the copy that `vary.choose` found for a request; `asked` is from `directives.of_request`.

    `current_until_s`: until when a hub vouches for the copy; `outdated_s`: since when a sibling's change has probably
    outdated it; as for `expiry`.

    If the action is VALIDATE and `asked.only_if_cached` is set, the client gets a 504 (RFC 9111 5.2.1.7).
    """
    age_s = copy.age_s(now_s)
    if _clock_was_set_back(copy, now_s):
        return Reuse(Action.VALIDATE, "clock", age_s, None, Fwd.STALE)
    expiry_s, reason = expiry(request, copy, terms, current_until_s, outdated_s)
    if expiry_s is None:
        return Reuse(Action.VALIDATE, reason, age_s, None, Fwd.STALE)
    ttl_s = expiry_s - now_s
    refusal = _refusal(asked, age_s, ttl_s)
    if ttl_s > 0:
        if refusal is None:
            return Reuse(Action.FRESH, reason, age_s, ttl_s)
        return Reuse(Action.VALIDATE, refusal, age_s, ttl_s, Fwd.REQUEST)
    if refusal is None and not forbids_stale(copy.cache_control):
        if asked.max_stale is not None and -ttl_s <= asked.max_stale:
            return Reuse(Action.STALE, "request-max-stale", age_s, ttl_s)
        window_s = copy.cache_control.stale_while_revalidate
        if window_s is not None and -ttl_s <= window_s:
            return Reuse(Action.STALE_WHILE_REVALIDATE, "stale-while-revalidate", age_s, ttl_s)
    return Reuse(Action.VALIDATE, reason, age_s, ttl_s, Fwd.STALE)


def _refusal(asked: CacheControl, age_s: float, ttl_s: float) -> str | None:
    """Return the request directive that refuses the copy, fresh or not (RFC 9111 5.2.1); None if none does."""
    if asked.no_cache:
        return "request-no-cache"
    if asked.max_age is not None and age_s > asked.max_age:
        return "request-max-age"
    if asked.min_fresh is not None and asked.min_fresh > ttl_s:
        return "request-min-fresh"
    return None


def without_origin(request: Request, asked: CacheControl, copy: Copy, now_s: float, terms: Terms) -> Reuse | None:
    """Decide on serving a copy after the origin failed: it could not be reached, timed out or sent a 5xx.

    Returns None if the copy may not be served.

    A copy may be served that is fresh by HTTP or by the policy. A stale one may by stale-if-error, of the response or
    the request (RFC 5861 4), or by the domain's `stale_if_down` (RFC 9111 4.2.4). Not if the request has no-cache: that
    client gets an error.
    """
    if asked.no_cache or copy.cache_control.no_cache:
        return None
    age_s = copy.age_s(now_s)
    expiry_s, reason = expiry(request, copy, terms)
    ends_s = [end_s for end_s in (expiry_s, None if copy.outdated else copy.http_expiry_s) if end_s is not None]
    ttl_s = max(ends_s, default=copy.current_s) - now_s
    if ttl_s > 0 and not _clock_was_set_back(copy, now_s):
        return Reuse(Action.FRESH, reason, age_s, ttl_s)
    if forbids_stale(copy.cache_control):
        return None
    if_error_s = max(copy.cache_control.stale_if_error or 0, asked.stale_if_error or 0)
    if if_error_s and -ttl_s <= if_error_s:
        return Reuse(Action.STALE, "stale-if-error", age_s, ttl_s)
    if terms.stale_if_down_s and -ttl_s <= terms.stale_if_down_s:
        return Reuse(Action.STALE, "stale-if-down", age_s, ttl_s)
    return None


def _clock_was_set_back(copy: Copy, now_s: float) -> bool:
    """Whether the age of the copy is unknown, because the clock was set back."""
    return now_s < copy.response_time_s - CLOCK_TOLERANCE_S


def expiry(
    request: Request,
    copy: Copy,
    terms: Terms,
    current_until_s: float | None = None,
    outdated_s: float | None = None,
) -> Expiry:
    """Return when the copy expires for this request under these terms.

    Called with other terms, it tells what `shorten` or `override` would do with the same verdict. `current_until_s`:
    until when a hub vouches for the copy, which lengthens the policy's verdict; None if none does. `outdated_s`: since
    when a sibling's change has probably outdated it, which shortens the verdict; None if none has.
    """
    cache_control, lifetime = copy.cache_control, copy.lifetime
    learned_s, learned_by = (copy.expiry_s if _may_learn(copy, terms) else None), copy.reason
    if current_until_s is not None and (learned_s is None or learned_s < current_until_s):
        learned_s, learned_by = current_until_s, HUB
    if outdated_s is not None and learned_s is not None and outdated_s < learned_s:
        learned_s, learned_by = outdated_s, SIBLING
    may_lengthen = learned_s is not None and may_use_learned_freshness(request, copy)
    overriding = terms.obey == "override" and may_lengthen
    if cache_control.no_cache and not (overriding and "no-cache" in terms.override):
        return Expiry(None, "no-cache")
    if copy.outdated:
        return Expiry(None, "outdated")
    if lifetime is None:
        if may_lengthen and heuristics_allowed(copy.head.status, cache_control):
            return Expiry(learned_s, learned_by)
        return Expiry(None, "no-lifetime")
    http_expiry_s = copy.current_s + lifetime.lifetime_s
    if learned_s is None:
        return Expiry(http_expiry_s, lifetime.source)
    if overriding:
        replaces = learned_s < http_expiry_s or _may_lengthen(cache_control, terms.override)
    else:
        # A proxy should not validate a fresh immutable response (RFC 8246 2).
        replaces = terms.obey == "shorten" and learned_s < http_expiry_s and not cache_control.immutable
    return Expiry(learned_s, learned_by) if replaces else Expiry(http_expiry_s, lifetime.source)


def policy_may_decide(copy: Copy, terms: Terms) -> bool:
    """Whether the policy's verdict, not the origin alone, decides until when the copy is used, for some request."""
    if copy.cache_control.no_cache:
        return terms.obey == "override" and "no-cache" in terms.override
    return copy.lifetime is None or terms.obey != "strict"


def _may_learn(copy: Copy, terms: Terms) -> bool:
    """Whether the copy may have learned freshness."""
    if copy.has_validator or copy.for_good or terms.learn_without_validator == "always":
        return True
    return copy.learned and terms.learn_without_validator == "learn"


def _may_lengthen(cache_control: CacheControl, override: frozenset[str]) -> bool:
    """Whether no directive forbids lengthening the lifetime, apart from those that the rule overrides."""
    return not (
        (cache_control.must_revalidate and "must-revalidate" not in override)
        or (cache_control.proxy_revalidate and "proxy-revalidate" not in override)
        or (cache_control.s_maxage == 0 and "s-maxage" not in override)
    )
