"""Counts of requests: since the start and in the current period, in total and for each registrable domain.

The proxy prints it each hour and at its end. The hours are real ones: under a fast clock an hour of policy time may
be a second, and one summary a second would be useless.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.plain import plain_word
from bestbefore.addon.admin.units import size, span, utc
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.outcome import Outcome

DOMAINS_SHOWN = 10
DOMAINS_COUNTED = 1000
"""Clients choose the hosts, so the domains counted apart are bounded: up to twice this many, then the busiest stay."""

_HEADINGS = ("requests", "hits", "valid.", "unnec.", "updates", "saved", "shorten", "override")
_CELL_WIDTHS = (8, 8, 8, 8, 8, 7, 8, 12)
_NAME_LIMIT = 40
_LEGEND = (
    "  valid.: validations; unnec.: those that found nothing new; saved: bytes served that no origin sent;\n"
    "  shorten, override: more (+) and fewer (-) contacts under this obey where the origin's lifetime decided\n"
)

type Row = tuple[str, tuple[str, ...]]
"""A name and its cells."""


@dataclass(slots=True)
class RequestCounts:
    """The counts of a set of requests."""

    requests: int = 0
    hits: int = 0
    validations: int = 0
    unnecessary: int = 0
    """Validations that found the object unchanged."""
    updates: int = 0
    """Updates seen."""
    saved_bytes: int = 0
    """Bytes of content sent to clients less those received from origins."""
    would_validate: int = 0
    """Hits that `shorten` or `override` would have validated first."""
    would_hit: int = 0
    """Contacts that `override` would have spared."""

    def add(self, answered: Answered) -> None:
        self.requests += not answered.background
        self.hits += answered.outcome is Outcome.HIT and not answered.background
        self.validations += answered.validation
        self.unnecessary += answered.unnecessary
        self.updates += answered.update
        if answered.outcome is not Outcome.REFUSED:  # error pages of the proxy save no contact
            self.saved_bytes += answered.sent_bytes - answered.received_bytes
        if answered.would_differ:
            self.would_validate += answered.would_differ == "validated"
            self.would_hit += answered.would_differ == "hit"

    def __iadd__(self, other: Self) -> Self:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


class DomainCounts:
    """Counts in all, and of each domain while it is among the busiest."""

    def __init__(self) -> None:
        self.all = RequestCounts()
        self.domains: dict[str, RequestCounts] = {}
        self.rest = RequestCounts()
        """Of the domains no longer counted apart. One that comes back starts from nothing."""

    def add(self, domain: str, answered: Answered) -> None:
        self.all.add(answered)
        counts = self.domains.get(domain)
        if counts is None:
            if len(self.domains) >= 2 * DOMAINS_COUNTED:
                self._forget_quiet_ones()
            counts = self.domains[domain] = RequestCounts()
        counts.add(answered)

    def _forget_quiet_ones(self) -> None:
        busiest = self._by_requests()
        for _, counts in busiest[DOMAINS_COUNTED:]:
            self.rest += counts
        self.domains = dict(busiest[:DOMAINS_COUNTED])

    def _by_requests(self) -> list[tuple[str, RequestCounts]]:
        return sorted(self.domains.items(), key=lambda item: (-item[1].requests, item[0]))

    def busiest(self, n: int) -> tuple[list[tuple[str, RequestCounts]], RequestCounts]:
        """The n domains with the most requests, most first, and all others together."""
        ordered = self._by_requests()
        other = RequestCounts()
        other += self.rest
        for _, counts in ordered[n:]:
            other += counts
        return ordered[:n], other


class Summary:
    """Accumulates the answered requests and writes them up. Moments of real time are an argument."""

    def __init__(self, started_s: float) -> None:
        """`started_s`: real (monotonic) seconds."""
        self._started_s = self._period_started_s = started_s
        self._total, self._period = DomainCounts(), DomainCounts()

    def add(self, answered: Answered) -> None:
        """Count a request."""
        _, separator, rest = answered.url.partition("://")
        domain = _domain((rest if separator else answered.url).partition("/")[0])
        self._total.add(domain, answered)
        self._period.add(domain, answered)

    def start_period(self, real_s: float) -> None:
        """Begin the next period (hour) at this monotonic second; the counts since the start go on."""
        self._period_started_s = real_s
        self._period = DomainCounts()

    def render(self, now_s: float, real_s: float) -> str:
        """The text for now: `now_s` is policy time, and stamps it; `real_s` is monotonic, and measures the spans.

        Printable ASCII, ends in a newline.
        """
        rows: list[Row] = [(f"summary {utc(now_s)}", _HEADINGS)]
        if self._period_started_s > self._started_s:
            rows += _section(f"last {span(real_s - self._period_started_s)}", self._period)
        rows += _section(f"since the start, {span(real_s - self._started_s)} ago", self._total)
        name_width = max(len(name) for name, _ in rows)
        return "".join(_line(name, name_width, cells) for name, cells in rows) + _LEGEND


@lru_cache(maxsize=4096)
def _domain(authority: str) -> str:
    """The registrable domain of `user@host:port`, fit to be printed."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        host = ""
    return plain_word(registrable_domain(host)) if host else "?"


def _section(title: str, tally: DomainCounts) -> Iterator[Row]:
    yield title, _cells(tally.all)
    busiest, other = tally.busiest(DOMAINS_SHOWN)
    for domain, counts in busiest:
        # The end of a long name says more than its beginning.
        shown = domain if len(domain) <= _NAME_LIMIT else "..." + domain[3 - _NAME_LIMIT :]
        yield f"  {shown}", _cells(counts)
    if other.requests:
        yield "  other domains", _cells(other)


def _cells(counts: RequestCounts) -> tuple[str, ...]:
    more, less = counts.would_validate, counts.would_hit
    return (
        *(str(n) for n in (counts.requests, counts.hits, counts.validations, counts.unnecessary, counts.updates)),
        size(counts.saved_bytes),
        f"+{more}" if more else "0",
        f"+{more} -{less}" if more or less else "0",
    )


def _line(name: str, name_width: int, cells: tuple[str, ...]) -> str:
    columns = (f" {cell:>{width}}" for cell, width in zip(cells, _CELL_WIDTHS, strict=True))
    return f"{name:<{name_width}}{''.join(columns)}\n"
