"""The parameters of a simulation of a channel."""

from dataclasses import dataclass, field

from bestbefore.replay.multicast.clients import ClientLaw


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is simulated; the defaults are the base case of the paper with 100 subscribers."""

    subscribers: int = 100
    downloaders: int = 0
    """Clients that want one copy of what they request, all from the start."""
    law: str = "A"
    """The law of page change rates, of the table `laws`."""
    slower: float = 1.0
    """Multiplies the mean change interval of each page."""
    client_law: ClientLaw = field(default_factory=ClientLaw)
    days: int = 75
    chunks_per_day: float = 288.0
    """What the channel can send: a chunk in five minutes."""
    requests_in_pages: bool = True
    """Whether R counts a client once for each page that it needs, else once for a chunk."""
    queue_in_pages: bool = False
    """Whether Q counts the pages that a client needs, else the chunks."""
    random_ties: bool = False
    """Whether equal scores are ranked at random, else by the time since when a chunk is waited for."""
