"""Evidence on responses without a validator: which content was sent to which clients.

Without a validator only the digests of content that passed show whether an object changes, and whether it is the same
for all clients. The evidence is kept for each variant, with the last fingerprint.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from bestbefore.policies.units import DAY_S

CLIENTS_NEEDED = 3
"""To how many clients the same content must have been sent before it is served to others."""
UNSHARED_S = DAY_S
"""How long after a difference between clients an object is not shared."""
LEAST_WINDOW_S = 60.0
"""Within this time, or the learned lifetime if that is longer, different content for another client counts as a
difference between the clients; later as an update."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A response without validator, and the client to which it was sent."""

    client: str
    """A salted hash of the client's address, proxy user, Cookie and credentials; empty without a client."""
    anonymous: bool
    """Whether the request had neither Cookie nor Authorization."""
    is_static: bool
    """Whether its media type is one of files that are usually the same for all."""
    lifetime_s: float = 0.0
    """The lifetime that was learned before this response, s."""
    bar: str = ""
    """Why it may not be stored whatever is learnt; empty if it may."""


@dataclass(frozen=True, slots=True)
class ContentEvidence:
    """What is known of the present content of one variant. Bounded: `clients` has at most `CLIENTS_NEEDED`."""

    since_s: float
    """The first contact that returned this content."""
    repeats: int = 0
    """How many contacts after the first returned it too, one after the other."""
    clients: tuple[str, ...] = ()
    """The first clients without Cookie and credentials to which it was sent."""
    last_client: str = ""
    """The client to which it was last sent."""
    before: str = ""
    """The digest of the content before it."""
    is_static: bool = False
    bar: str = ""
    """That of the last delivery."""


class Gathered(NamedTuple):
    """The evidence after a delivery."""

    evidence: ContentEvidence
    differs: bool
    """Whether clients were sent different content at the same time."""


def gathered(
    known: ContentEvidence | None, body: str, last_body: str, delivery: Delivery, t_s: float, last_s: float
) -> Gathered:
    """Add a delivery at `t_s` with the content `body` (its digest); the last was at `last_s` with `last_body`."""
    clients = (delivery.client,) if delivery.client and delivery.anonymous else ()
    begun = ContentEvidence(
        t_s, clients=clients, last_client=delivery.client, is_static=delivery.is_static, bar=delivery.bar
    )
    if known is None or not last_body:
        return Gathered(begun, differs=False)
    if body == last_body:
        joined = known.clients + tuple(client for client in clients if client not in known.clients)
        same = replace(begun, since_s=known.since_s, repeats=known.repeats + 1, before=known.before)
        return Gathered(replace(same, clients=joined[:CLIENTS_NEEDED]), differs=False)
    had_it = delivery.client in (*known.clients, known.last_client)
    soon = t_s - last_s < max(delivery.lifetime_s, LEAST_WINDOW_S)
    differs = not had_it and (soon or body == known.before)
    return Gathered(replace(begun, before=last_body), differs)
