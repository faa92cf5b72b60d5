"""The counts of a replay as CSV and JSON, from the rows of `bestbefore replay --json`."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

Row = Mapping[str, object]
"""`policy`, `params` (a mapping), the conditions, and the counts."""


def json_text(rows: Sequence[Row]) -> str:
    """A JSON array with one row a line."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def csv_text(rows: Sequence[Row]) -> str:
    """A CSV table with a header. Each parameter of any policy is a column, empty for policies without it."""
    flat = [_flat(row) for row in rows]
    keys = [key for row in rows for key in _params(row)]
    rest = [key for row in rows for key in row if key not in {"policy", "params"}]
    columns = list(dict.fromkeys(["policy", *keys, *rest]))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _params(row: Row) -> Mapping[str, object]:
    params = row["params"]
    assert isinstance(params, Mapping)
    return params


def _flat(row: Row) -> dict[str, object]:
    params = {key: "+".join(v) or "none" if isinstance(v, list) else v for key, v in _params(row).items()}
    return {key: value for key, value in row.items() if key != "params"} | params
