"""The time limits of the proxy for its peers, in real seconds."""

from dataclasses import dataclass

from bestbefore.addon.config.settings import Settings


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time limits, with the defaults of the configuration. Each applies to each head or read by itself."""

    connect_s: float = 10.0
    """For connecting to an origin, including TLS."""
    head_s: float = 10.0
    """For the head of a message, from its first byte to its last."""
    read_s: float = 60.0
    """For the first byte of a response, and between two reads of content, in both directions."""
    idle_s: float = 600.0
    """Between two pieces of an event stream, and for data in either direction of a tunnel or an upgraded connection."""


DEFAULT_LIMITS = TimeLimits()


def limits_of(settings: Settings) -> TimeLimits:
    """Return the time limits that the settings give."""
    return TimeLimits(settings.connect_timeout, settings.head_timeout, settings.read_timeout, settings.idle_timeout)
