"""The settings of a proxy that the engine needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """The settings of a proxy that enter decisions. Replaced when the configuration changes."""

    name: str
    """Our pseudonym in Via and in observations; another one for each proxy, so that a loop is told from a chain."""
    salt: bytes
    """Makes the hashes of cookies useless elsewhere."""
    max_cached_body: int
    """The largest content that is stored, bytes."""
    offline: bool = False
    """Everything stored is served, and nothing is contacted."""
    via_request: bool = True
    """Whether requests to the origin bear Via."""
    reverse: bool = False
    """Whether the proxy stands in front of an origin, and so may report the updates it has seen."""
    targeted: tuple[str, ...] = ()
    """The lower-case names of the targeted cache-control fields that are obeyed (RFC 9213), in their order."""
