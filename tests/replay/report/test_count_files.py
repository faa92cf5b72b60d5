import csv
import io
import json

from bestbefore.replay.report.count_files import csv_text, json_text

ROWS = [
    {"policy": "ttl", "params": {"alpha": 0.1}, "cache": "shared", "hits": 3},
    {"policy": "indttl", "params": {"theta": 0.1, "alpha": 0.2, "threshold": "inf"}, "cache": "shared", "hits": 4},
    {"policy": "ttl", "params": {"alpha": 0.1, "fallback": ["ttl", "group"]}, "cache": "shared", "hits": 5},
    {"policy": "ttl", "params": {"alpha": 0.1, "fallback": []}, "cache": "shared", "hits": 6},
]


def test_json_is_an_array_with_a_row_a_line() -> None:
    text = json_text(ROWS)
    assert json.loads(text) == ROWS
    assert len(text.splitlines()) == len(ROWS) + 2


def test_in_csv_each_parameter_is_a_column() -> None:
    header, *rows = csv.reader(io.StringIO(csv_text(ROWS)))
    assert header == ["policy", "alpha", "theta", "threshold", "fallback", "cache", "hits"]
    assert rows == [
        ["ttl", "0.1", "", "", "", "shared", "3"],
        ["indttl", "0.2", "0.1", "inf", "", "shared", "4"],
        ["ttl", "0.1", "", "", "ttl+group", "shared", "5"],
        ["ttl", "0.1", "", "", "none", "shared", "6"],
    ]
