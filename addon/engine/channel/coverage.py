"""Coverage: which copies an edge may take for current, since a channel reports their updates."""

from dataclasses import dataclass

from bestbefore.addon.rfc9111.copy import Copy


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was read of a channel: everything from a place on, with all updates until a time."""

    channel: str
    """The name of the channel and its publisher."""
    since: int
    """The first place from which on every message was read."""
    until_s: float
    """Until when a copy that the channel covers may be taken for current."""

    def current_until_s(self, copy: Copy) -> float | None:
        """Return until when a copy may be taken for current; None if the channel does not cover it."""
        if copy.covered is None:
            return None
        channel, place = copy.covered
        return self.until_s if channel == self.channel and place >= self.since else None
