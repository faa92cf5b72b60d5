"""The labels of objects, from a CSV file with a row for each object or from a list of feeds (OPML)."""

from pathlib import Path

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.csv import check_utf8, rows_of
from bestbefore.replay.traces.formats.opml import listed_feeds, looks_like_opml
from bestbefore.replay.traces.opening import OpenTrace, open_trace

OBJECT = "object"
CLASS = "class"
"""The label of feeds on a list: their folder."""


def read_labels(path: Path, column: str) -> dict[str, str]:
    """Read the value of a column for each object, from a CSV file with the columns `object` and this one.

    A list of feeds has only the column `class`. Raises TraceError, also if an object has two values.
    """
    with open_trace(path) as source:
        if not looks_like_opml(source.head()):
            return _from_rows(source, column)
        if column != CLASS:
            raise TraceError(f"{path}: no column {column!r} in a list of feeds: expected {CLASS}, their folders")
        return {feed.address: feed.folder for feed in listed_feeds(source)}


def _from_rows(source: OpenTrace, column: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    with rows_of(source, (OBJECT, column)) as (header, rows):
        object_at, label_at = header.index(OBJECT), header.index(column)
        for row in rows:
            object_, label = row[object_at], row[label_at]
            check_utf8(OBJECT, object_)
            check_utf8(column, label)
            if labels.setdefault(object_, label) != label:
                raise ValueError(f"object {object_!r} with {column} {label!r}: expected {labels[object_]!r} as before")
    return labels
