"""Counts of requests: since the start and in the current period, in total and for each registrable domain.

The proxy prints it each hour and at its end. The hours are real: with a fast clock an hour of policy time may be a
second.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from bestbefore.addon.admin.counts.failing_origins import FailingOrigins
from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.admin.units import size, span, utc
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.outcome import Outcome

MAX_ROWS = 10
DOMAINS_COUNTED = 1000
"""The bound on counted domains, as clients choose the hosts: beyond twice this number only the busiest are kept."""

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
    contacts: int = 0
    """Requests for which an origin was contacted, those in the background included."""
    validations: int = 0
    unnecessary: int = 0
    """Validations that found the object unchanged."""
    updates: int = 0
    """Updates seen."""
    saved_bytes: int = 0
    """Bytes of content sent to clients minus those received from origins."""
    would_validate: int = 0
    """Hits that `shorten` or `override` would have validated first."""
    would_hit: int = 0
    """Contacts that `override` would have saved."""

    def add(self, answered: Answered) -> None:
        self.requests += not answered.background
        self.hits += answered.outcome is Outcome.HIT and not answered.background
        if answered.contact:
            self.contacts += 1
        self.validations += answered.validation
        self.unnecessary += answered.unnecessary
        self.updates += answered.update
        if answered.outcome is not Outcome.REFUSED:  # error pages of the proxy save no contact
            self.saved_bytes += answered.sent_bytes - answered.received_bytes
        if answered.would_differ:
            self.would_validate += answered.would_differ == "validated"
            self.would_hit += answered.would_differ == "hit"

    def __iadd__(self, other: Self) -> Self:
        self.requests += other.requests
        self.hits += other.hits
        self.contacts += other.contacts
        self.validations += other.validations
        self.unnecessary += other.unnecessary
        self.updates += other.updates
        self.saved_bytes += other.saved_bytes
        self.would_validate += other.would_validate
        self.would_hit += other.would_hit
        return self


class DomainCounts:
    """Total counts, and counts of the busiest domains."""

    def __init__(self) -> None:
        self.all = RequestCounts()
        self.domains: dict[str, RequestCounts] = {}
        self.rest = RequestCounts()
        """The counts of removed domains. A domain that returns starts from 0."""
        self.origins = FailingOrigins()

    def add(self, domain: str, counts: RequestCounts) -> None:
        """Add counts of one domain."""
        self.all += counts
        of_domain = self._counts_of(domain)
        of_domain += counts

    def merge(self, other: Self) -> None:
        """Add the counts of another process."""
        self.all += other.all
        self.rest += other.rest
        self.origins.merge(other.origins)
        for domain, counts in other.domains.items():
            summed = self._counts_of(domain)
            summed += counts

    def _counts_of(self, domain: str) -> RequestCounts:
        counts = self.domains.get(domain)
        if counts is None:
            if len(self.domains) >= 2 * DOMAINS_COUNTED:
                kept, self.rest = self.busiest(DOMAINS_COUNTED)
                self.domains = dict(kept)
            counts = self.domains[domain] = RequestCounts()
        return counts

    def busiest(self, n: int) -> tuple[list[tuple[str, RequestCounts]], RequestCounts]:
        """Return the n domains with the most requests, in descending order, and the sum of all others."""
        ordered = sorted(self.domains.items(), key=lambda item: (-item[1].requests, item[0]))
        other = RequestCounts()
        other += self.rest
        for _, counts in ordered[n:]:
            other += counts
        return ordered[:n], other


class Summary:
    """Accumulates counts of answered requests and renders them as text. Time is an argument."""

    def __init__(self, started_s: float) -> None:
        """`started_s`: real (monotonic) seconds."""
        self._started_s = self._period_started_s = started_s
        self._total, self._period = DomainCounts(), DomainCounts()

    def add(self, *exchanges: Answered) -> None:
        """Count requests."""
        counts: dict[str, RequestCounts] = {}
        for answered in exchanges:
            _, separator, rest = answered.url.partition("://")
            authority = (rest if separator else answered.url).partition("/")[0]
            domain = _domain(authority)
            if answered.outcome is not Outcome.HIT:
                host = plain_word(authority.rpartition("@")[2])
                self._total.origins.add(answered, host)
                self._period.origins.add(answered, host)
            if domain not in counts:
                counts[domain] = RequestCounts()
            counts[domain].add(answered)
        for domain, of_domain in counts.items():
            self._total.add(domain, of_domain)
            self._period.add(domain, of_domain)

    @property
    def total(self) -> DomainCounts:
        """The counts since the start."""
        return self._total

    def take(self) -> DomainCounts:
        """Return the counts of the period, and begin the next one. For a process whose counts another one merges."""
        taken, self._period = self._period, DomainCounts()
        return taken

    def merge(self, counts: DomainCounts) -> None:
        """Add counts that another process has taken."""
        self._total.merge(counts)
        self._period.merge(counts)

    @property
    def is_idle(self) -> bool:
        """Whether no client has requested anything in the period."""
        return not self._period.all.requests

    def start_period(self, real_s: float) -> None:
        """Begin the next period (hour), at a monotonic time in seconds; the counts since the start continue."""
        self._period_started_s = real_s
        self._period = DomainCounts()

    def render(self, now_s: float, real_s: float) -> str:
        """Return the summary. `now_s`: policy time, for its heading; `real_s`: monotonic time, for its durations.

        It is printable ASCII with a final newline.
        """
        rows: list[Row] = [(f"summary {utc(now_s)}", _HEADINGS)]
        if self._period_started_s > self._started_s:
            rows += _section(f"last {span(real_s - self._period_started_s)}", self._period)
        rows += _section(f"since the start, {span(real_s - self._started_s)} ago", self._total)
        name_width = max(len(name) for name, _ in rows)
        return "".join(_line(name, name_width, cells) for name, cells in rows) + _LEGEND


@lru_cache(maxsize=4096)
def _domain(authority: str) -> str:
    """Return the registrable domain of `user@host:port`, in printable ASCII."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        host = ""
    return plain_word(registrable_domain(host)) if host else "?"


def _section(title: str, tally: DomainCounts) -> Iterator[Row]:
    yield title, _cells(tally.all)
    busiest, other = tally.busiest(MAX_ROWS)
    for domain, counts in busiest:
        if not counts.requests:  # only the prefetcher contacted it
            break
        # The end of a long name is more informative than its start.
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
