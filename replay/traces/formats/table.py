"""The table of trace formats by name. A new format needs its file, a line here and a test file."""

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
    """The kinds of data that a trace format may carry."""

    UPDATES = auto()
    """The times at which objects changed."""
    REQUESTS = auto()
    CLIENTS = auto()
    """The client of each request; without it, all requests belong to one client."""
    SIZES = auto()
    """The size of each response, bytes."""
    VALIDATORS = auto()
    """The Last-Modified, ETag or content hash of each response."""
    AGENTS = auto()
    """The user agent of each request, on which content codings depend."""

    def names(self) -> str:
        """Return the names for messages, in the order above."""
        return ", ".join((carried.name or "").lower() for carried in self)


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A trace format: its description, the data that it carries, its reader and its recognition."""

    what: str
    """The description for messages and help."""
    carries: Carries
    read: Callable[[OpenTrace, Skipped], Trace]
    """Reads a trace; raises TraceError if that is impossible, and notes and skips single invalid entries."""
    looks_like: Callable[[bytes], bool]
    """Whether the first bytes (all, or at least 64 KiB) have this format; no two formats accept the same bytes."""
    read_folder: Callable[[Path, Skipped], Trace] | None = None
    """Reads a trace from a folder, if the format allows it."""
    native: bool = False
    """Whether it is the native form, in which any error ends the reading and all times are trusted."""


def _native(
    what: str,
    read_table: Callable[[OpenTrace, Sequence[str], Sequence[str]], Table],
    looks_like: Callable[[bytes], bool],
) -> TraceFormat:
    """Make the format of a kind of file with the native columnar form."""

    def read(source: OpenTrace, skipped: Skipped) -> Trace:  # noqa: ARG001
        return read_table(source, UPDATE_COLUMNS, ACCESS_COLUMNS).trace()

    return TraceFormat(what, _ALL, read, looks_like, native=True)


_ALL = Carries.UPDATES | Carries.REQUESTS | Carries.CLIENTS | Carries.SIZES | Carries.VALIDATORS | Carries.AGENTS
_SERVER = Carries.REQUESTS | Carries.CLIENTS | Carries.SIZES
_HEADERS = Carries.REQUESTS | Carries.SIZES | Carries.VALIDATORS | Carries.AGENTS

FORMATS: Mapping[str, TraceFormat] = {
    "csv": _native("CSV with a header", csv.read_table, csv.looks_like_csv),
    "npz": _native("NumPy archive of columns", npz.read_table, npz.looks_like_npz),
    "parquet": _native("Parquet with the columns of CSV", parquet.read_table, parquet.looks_like_parquet),
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
