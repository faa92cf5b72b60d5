"""The time limits of the proxy for its peers, in real seconds."""

from dataclasses import dataclass

from bestbefore.addon.config.settings import Settings


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time limits. Each starts again with what it limits; the defaults are those of the configuration."""

    connect_s: float = 10.0
    """For a connection to an origin, its TLS included."""
    head_s: float = 10.0
    """For the head of a message, from its first byte to its last."""
    read_s: float = 60.0
    """For the first byte of an answer, and between two reads of content, in both directions."""
    idle_s: float = 600.0
    """Between two pieces of an event stream, and for data in either direction of a tunnel or an upgraded connection."""


DEFAULT_LIMITS = TimeLimits()


def limits_of(settings: Settings) -> TimeLimits:
    """Return the time limits that the settings give."""
    return TimeLimits(
        settings.connect_timeout, settings.head_timeout, settings.read_timeout, settings.idle_timeout
    )
