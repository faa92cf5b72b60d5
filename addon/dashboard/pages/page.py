"""A request for a page, and what its template shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bestbefore.addon.dashboard.comparison.comparison import PolicyComparison
from bestbefore.addon.dashboard.recent import RecentRequests
from bestbefore.addon.dashboard.source import ProxySource

ROWS = 50
"""The rows of a page of a table."""


class PageMissingError(LookupError):
    """There is no such page. The message is for the user."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a page."""

    source: ProxySource
    recent: RecentRequests
    comparison: PolicyComparison
    query: Mapping[str, str]
    now_s: float
    """Policy time."""
    here: bool = False
    """Whether it comes from this machine."""
    form: Mapping[str, object] = field(default_factory=dict)
    """What a form of ours on this machine has sent; empty for a GET."""

    def number(self, name: str, most: int) -> int:
        """Return a whole number of the query, from 0 to `most`; 0 for anything else."""
        text = self.query.get(name, "")
        return min(int(text), most) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


@dataclass(frozen=True, slots=True)
class PageView:
    """What is shown."""

    template: str
    """The template of its content, within the frame of all pages."""
    title: str
    values: Mapping[str, object]
    is_live: bool = False
    """Whether it changes while it is shown."""
