"""The folder that a replay leaves: the report, and the same counts as CSV and JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bestbefore.replay.report.html import page
from bestbefore.replay.report.tables import Row, csv_text, json_text
from bestbefore.replay.sweep import Result

FINISHED = "finished.jsonl"
"""The finished points, from which the same replay goes on if it was ended early."""


def write_report(folder: Path, results: Sequence[Result], rows: Sequence[Row], facts: Mapping[str, str]) -> None:
    """Write counts.csv, counts.json and report.html, each whole or not at all. Raises OSError."""
    for name, text in (
        ("counts.csv", csv_text(rows)),
        ("counts.json", json_text(rows)),
        ("report.html", page(results, facts)),
    ):
        part = folder / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(folder / name)
