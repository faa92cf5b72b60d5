"""The formats of traces: to add one is one new file and one line here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from pathlib import Path

from bestbefore.replay.traces.columns.columnar import ACCESS_COLUMNS, UPDATE_COLUMNS, Table
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.formats import (
    combined,
    csv,
    feeds,
    flows,
    har,
    mbox,
    npz,
    opml,
    parquet,
    squid,
    worldcup,
)
from bestbefore.replay.traces.inference.accesses import Accesses
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.skipped import Skipped

Trace = Updates | Accesses


class Carries(Flag):
    """The columns that a trace may carry."""

    UPDATES = auto()
    """When objects changed."""
    REQUESTS = auto()
    CLIENTS = auto()
    """Which client made a request; without it, all are of one."""
    SIZES = auto()
    VALIDATORS = auto()
    AGENTS = auto()
    """Which requests were made by the same kind of browser, which content codings depend on."""

    def names(self) -> str:
        """Return the names for people, in the order above."""
        return ", ".join((carried.name or "").lower() for carried in self)


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A format: its name, what it carries, how it is read and how it is recognised."""

    what: str
    carries: Carries
    read: Callable[[OpenTrace, Skipped], Trace]
    """Raises TraceError if the whole cannot be read; single entries that cannot are noted and skipped."""
    looks_like: Callable[[bytes], bool]
    """From the first bytes of what it holds (all, or at least 64 KiB). No two formats claim the same."""
    read_folder: Callable[[Path, Skipped], Trace] | None = None
    """Likewise, if a trace may be a folder."""
    ours: bool = False
    """Right or refused: nothing in it is skipped, and no time in it doubted."""


def _ours(
    what: str,
    read_table: Callable[[OpenTrace, Sequence[str], Sequence[str]], Table],
    looks_like: Callable[[bytes], bool],
) -> TraceFormat:
    """Our own columnar form in files of some kind."""

    def read(source: OpenTrace, skipped: Skipped) -> Trace:  # noqa: ARG001
        return read_table(source, UPDATE_COLUMNS, ACCESS_COLUMNS).trace()

    return TraceFormat(what, _ALL, read, looks_like, ours=True)


_ALL = Carries.UPDATES | Carries.REQUESTS | Carries.CLIENTS | Carries.SIZES | Carries.VALIDATORS | Carries.AGENTS
_SERVER = Carries.REQUESTS | Carries.CLIENTS | Carries.SIZES
_HEADERS = Carries.REQUESTS | Carries.SIZES | Carries.VALIDATORS | Carries.AGENTS

FORMATS: Mapping[str, TraceFormat] = {
    "csv": _ours("CSV with a header", csv.read_table, csv.looks_like_csv),
    "npz": _ours("NumPy archive of columns", npz.read_table, npz.looks_like_npz),
    "parquet": _ours("Parquet with the columns of CSV", parquet.read_table, parquet.looks_like_parquet),
    "combined": TraceFormat("Apache or nginx combined log", _SERVER | Carries.AGENTS, combined.read_combined,
                            combined.looks_combined),
    "common": TraceFormat("Apache or nginx common log", _SERVER, combined.read_combined, combined.looks_common),
    "squid": TraceFormat("Squid native access.log", _SERVER, squid.read_squid, squid.looks_like_squid),
    "wc98": TraceFormat("binary log of the 1998 World Cup site", _SERVER, worldcup.read_worldcup,
                        worldcup.looks_like_worldcup),
    "har": TraceFormat("HTTP archive of a browser", _HEADERS, har.read_har, har.looks_like_har),
    "mitmproxy": TraceFormat("flow file of mitmproxy", _HEADERS | Carries.CLIENTS, flows.read_flows,
                             flows.looks_like_flows),
    "mbox": TraceFormat("mailbox, its messages as updates", Carries.UPDATES, mbox.read_mbox, mbox.looks_like_mbox),
    "feeds": TraceFormat("stored feed or a folder of them, their items as updates", Carries.UPDATES, feeds.read_feed,
                         feeds.looks_like_stored_feed, feeds.read_feed_folder),
    "opml": TraceFormat("list of feeds, which are stored in its folder", Carries.UPDATES, feeds.read_listed_feeds,
                        opml.looks_like_opml),
}
