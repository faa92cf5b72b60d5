"""A subscription to a WebSub hub (W3C Recommendation of 2018): a state machine. Time and secrets are arguments."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from bestbefore.policies.units import DAY_S, HOUR_S

LEASE_S = 10 * DAY_S
"""The lease that is asked for."""
LONGEST_LEASE_S = 30 * DAY_S
SHORTEST_LEASE_S = 60.0
"""Shorter leases of a hub count as this long, so that none makes the proxy renew without end."""
RENEWED_PART = 0.8
"""A lease is renewed when this part of it has passed."""
VERIFIED_WITHIN_S = HOUR_S
"""How long a hub may take to verify a request, before it is asked again."""
NEXT_HUB_AFTER_S = 600.0
"""The same, while the object has another hub that can be asked."""
LONGEST_WAIT_S = DAY_S
"""The longest wait until hubs of which none accepts and verifies are asked again; it doubles from an hour."""
DENIED_S = 7 * DAY_S
"""How long no hub is asked after all have denied."""
_METHODS = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
"""The methods of signatures that count. SHA-1, which WebSub allows too, does not."""


class PushState(StrEnum):
    """What a subscription waits for."""

    KNOWN = "known"
    """Nothing: the object has declared a hub, and is not in demand."""
    ASKED = "asked"
    """The hub's verification of a subscription."""
    REFUSED = "refused"
    """The next request: the hub did not accept the last one."""
    ACTIVE = "active"
    """Pushes."""
    ENDING = "ending"
    """The hub's verification of its end."""
    DENIED = "denied"
    """The end of `DENIED_S`."""


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """The subscription to one object, at one of its hubs."""

    url: str
    topic: str
    hub: str
    """The one that is asked."""
    path: str
    """The unguessable last segment of its callback."""
    secret: str
    state: PushState = PushState.KNOWN
    changed_s: float = 0.0
    """When the hub was last asked, refused or denied it."""
    since_s: float = 0.0
    """Since when it has been active without a gap."""
    until_s: float = 0.0
    """When its lease ends."""
    failures: int = 0
    """How often in a row no hub has accepted and verified."""
    pushes: int = 0
    pushed_s: float = 0.0
    """When the last push came."""
    is_signed: bool = False
    """Whether that push was signed."""
    hubs: tuple[str, ...] = ()
    """All that the object declares, in this order; empty: none but this one."""
    passed: int = 0
    """How many of them, in a row before this one, have not accepted and verified."""
    denials: int = 0
    """How many of these, and of this one, have denied."""

    def is_live(self, now_s: float) -> bool:
        """Whether pushes are due: the lease lasts."""
        return now_s < self.until_s and self.state in (PushState.ACTIVE, PushState.ASKED, PushState.REFUSED)

    @property
    def is_last(self) -> bool:
        """Whether no other hub remains before the first one is asked again."""
        return self.passed + 1 >= len(self.hubs)

    def passes_on(self, now_s: float) -> bool:
        """Whether another hub is to be asked in place of this one, when `due_s` has come.

        While a lease lasts, its hub is asked to renew it, unless it has denied.
        """
        failed = self.state in (PushState.ASKED, PushState.REFUSED, PushState.DENIED)
        return failed and len(self.hubs) > 1 and not self.is_live(now_s)

    def at_next(self, path: str, secret: str, now_s: float) -> "PushSubscription":
        """Return the subscription at the next hub, after the last one at the first, with a path of its own.

        So what the hub before this one may still send is not taken for this one's.
        """
        hub = self.hubs[(self.hubs.index(self.hub) + 1) % len(self.hubs)] if self.hub in self.hubs else self.hubs[0]
        passed, denials = (0, 0) if self.is_last else (self.passed + 1, self.denials)
        failures = self.failures + self.is_last
        return replace(
            self, hub=hub, path=path, secret=secret, state=PushState.KNOWN, changed_s=now_s, since_s=0.0, until_s=0.0,
            failures=failures, passed=passed, denials=denials,
        )  # fmt: skip

    def due_s(self) -> float:
        """Return when the hub must be asked, if the object is wanted."""
        match self.state:
            case PushState.KNOWN:
                return self.changed_s
            case PushState.ASKED:
                return self.changed_s + (self._again_s() if self._is_alone() else NEXT_HUB_AFTER_S)
            case PushState.REFUSED:
                return self.changed_s + (self._again_s() if self._is_alone() else 0.0)
            case PushState.ACTIVE:
                return self.changed_s + RENEWED_PART * (self.until_s - self.changed_s)
            case PushState.DENIED:
                if not self.is_last:
                    return self.changed_s
                return self.changed_s + (DENIED_S if self.denials >= len(self.hubs) else self._again_s())
            case PushState.ENDING:
                return self.changed_s + VERIFIED_WITHIN_S

    def asked(self, now_s: float) -> "PushSubscription":
        """Return the state after a request to subscribe or renew. An unanswered one before it counts as a failure."""
        failed = self.state in (PushState.ASKED, PushState.REFUSED)
        return replace(self, state=PushState.ASKED, changed_s=now_s, failures=self.failures + failed)

    def refused(self, now_s: float) -> "PushSubscription":
        """Return the state after a request to subscribe or renew that the hub did not accept."""
        return replace(self, state=PushState.REFUSED, changed_s=now_s)

    def ending(self, now_s: float) -> "PushSubscription":
        """Return the state after a request to unsubscribe."""
        return replace(self, state=PushState.ENDING, changed_s=now_s)

    def verified(self, query: Mapping[str, str], now_s: float) -> "PushSubscription | None":
        """Return the state after a request of the hub that verifies an intent; None if that is not the intent.

        The answer to the hub is `hub.challenge` then. An end is confirmed only to one who asked for it: else anyone who
        reads the path in a log could end it.
        """
        if query.get("hub.topic") != self.topic or not query.get("hub.challenge"):
            return None
        mode = query.get("hub.mode")
        if mode == "unsubscribe" and self.state is PushState.ENDING:
            return replace(self, state=PushState.KNOWN, changed_s=now_s, since_s=0.0, until_s=0.0, failures=0)
        if mode != "subscribe" or self.state not in (PushState.ASKED, PushState.REFUSED, PushState.ACTIVE):
            return None
        given = query.get("hub.lease_seconds", "")
        lease_s = float(given) if given.isascii() and given.isdigit() and len(given) < 12 else LEASE_S
        until_s = now_s + min(max(lease_s, SHORTEST_LEASE_S), LONGEST_LEASE_S)
        since_s = self.since_s if self.since_s and now_s < self.until_s else now_s
        return replace(
            self, state=PushState.ACTIVE, changed_s=now_s, since_s=since_s, until_s=until_s,
            failures=0, passed=0, denials=0,
        )  # fmt: skip

    def denied(self, query: Mapping[str, str], now_s: float) -> "PushSubscription | None":
        """Return the state after a denial by the hub; None if it is not of this topic."""
        if query.get("hub.mode") != "denied" or query.get("hub.topic") != self.topic:
            return None
        if self.state is PushState.DENIED:
            return self
        denials = self.denials + 1
        return replace(self, state=PushState.DENIED, changed_s=now_s, since_s=0.0, until_s=0.0, denials=denials)

    def _is_alone(self) -> bool:
        """Whether this hub is asked again itself: there is no other, or its lease lasted when it was asked."""
        return self.is_last or self.until_s > self.changed_s

    def _again_s(self) -> float:
        return min(VERIFIED_WITHIN_S * 2.0 ** min(self.failures, 10), LONGEST_WAIT_S)

    def pushed(self, now_s: float, *, is_signed: bool) -> "PushSubscription":
        """Return the state after a push."""
        return replace(self, pushes=self.pushes + 1, pushed_s=now_s, is_signed=is_signed)

    def form(self, mode: str, callback: str) -> bytes:
        """Return the content of a request to the hub."""
        fields = {"hub.mode": mode, "hub.topic": self.topic, "hub.callback": callback}
        if mode == "subscribe":
            fields |= {"hub.lease_seconds": str(int(LEASE_S)), "hub.secret": self.secret}
        return urlencode(fields).encode()


class PushProof(StrEnum):
    """What the signature of a push shows."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    """It has none, or one by a method that is not safe: it is no more than a hint."""
    FORGED = "forged"


class _Signature(NamedTuple):
    """A signature of a push."""

    method: str
    value: str

    @classmethod
    def of(cls, field: str | None) -> "_Signature | None":
        """Parse X-Hub-Signature; None if it is missing, malformed or by a method that does not count."""
        method, _, value = (field or "").strip().partition("=")
        return cls(method.lower(), value.lower()) if method.lower() in _METHODS and value else None


class PushVerifier:
    """Computes the signature of content that comes in pieces, none of which is kept."""

    def __init__(self, secret: str, field: str | None) -> None:
        self._signature = _Signature.of(field)
        method = _METHODS[self._signature.method] if self._signature else hashlib.sha256
        self._mac = hmac.new(secret.encode(), digestmod=method)

    def add(self, piece: bytes) -> None:
        """Add a piece of the content."""
        self._mac.update(piece)

    def proof(self) -> PushProof:
        """Return what the signature shows of the whole content."""
        if self._signature is None:
            return PushProof.UNSIGNED
        value = self._signature.value.encode("utf-8", "replace")
        return PushProof.SIGNED if hmac.compare_digest(value, self._mac.hexdigest().encode()) else PushProof.FORGED
