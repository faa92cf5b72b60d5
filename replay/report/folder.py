"""The output folder of a replay: the report, and its counts as CSV and JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bestbefore.replay.report.count_files import Row, csv_text, json_text
from bestbefore.replay.report.formatting import words
from bestbefore.replay.report.html import NO_PARTS, Parts, page
from bestbefore.replay.report.measure import Measure
from bestbefore.replay.sweeps.sweep import Result
from bestbefore.replay.whole_file import whole_file

FINISHED = "finished.jsonl"
"""The file of finished points, from which an interrupted replay is resumed."""


def write_report(
    folder: Path,
    results: Sequence[Result],
    rows: Sequence[Row],
    facts: Mapping[str, str],
    measure: Measure,
    parts: Parts = NO_PARTS,
) -> None:
    """Write counts.csv, counts.json and report.html, each atomically. Raises OSError.

    Results without both counts of the measure are only named in the report; if none has both, no report is written.
    """
    texts = {"counts.csv": csv_text(rows), "counts.json": json_text(rows)}
    measured = [result for result in results if {measure.x, measure.y} <= result.counts.keys()]
    others = [result.point.spec for result in results if result not in measured]
    if measured:
        left_out = {"left out": f"{', '.join(others)}: no {words(measure.y)}"} if others else {}
        texts["report.html"] = page(measured, {**left_out, **facts}, measure, parts)
    for name, text in texts.items():
        with whole_file(folder / name) as file:
            file.write(text.encode())
