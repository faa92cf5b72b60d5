"""The page on fixed limits has the values of the code."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs/limits.md"
ROW = re.compile(r"\| ([\d.,]+)(?: (\w+))? \| [^|]+ \| `(addon/[\w/]+)\.py` `(\w+)` \|")
UNITS = {None: 1, "s": 1, "d": 86_400, "KiB": 1 << 10, "MiB": 1 << 20}
ROWS = [found for line in PAGE.read_text().splitlines() if line.startswith("| ") and (found := ROW.fullmatch(line))]


def test_each_row_is_read() -> None:
    tables = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    assert len(ROWS) == len(tables) - 2 * tables.count("|---|---|---|") > 100
    assert len({row.group(3, 4) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("module", sorted({row[3] for row in ROWS}))
def test_the_limits_of_a_module_are_those_of_the_page(module: str) -> None:
    code = import_module(f"bestbefore.{module.replace('/', '.')}")
    rows = [row for row in ROWS if row[3] == module]
    stated = {row[4]: float(row[1].replace(",", "")) * UNITS[row[2]] for row in rows}
    defined = {name: getattr(code, name) for name in stated}
    days = {name: value * 86_400 for name, value in defined.items() if name.endswith("_DAYS")}
    assert {**defined, **days} == stated
