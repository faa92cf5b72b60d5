"""What is told of objects beside their updates: a CSV file with a row for each object."""

from pathlib import Path

from bestbefore.replay.traces.csv import check_utf8, rows_of
from bestbefore.replay.traces.opening import opened

OBJECT = "object"


def read_labels(path: Path, column: str) -> dict[str, str]:
    """The value in this column for each object of a file with the columns `object` and this one.

    Raises TraceError, also where one object has two values.
    """
    labels: dict[str, str] = {}
    with opened(path) as source, rows_of(source, (OBJECT, column)) as (header, rows):
        object_at, label_at = header.index(OBJECT), header.index(column)
        for row in rows:
            object_, label = row[object_at], row[label_at]
            check_utf8(OBJECT, object_)
            check_utf8(column, label)
            if labels.setdefault(object_, label) != label:
                raise ValueError(f"object {object_!r} with {column} {label!r}: expected {labels[object_]!r} as before")
    return labels
