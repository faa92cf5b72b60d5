"""What is asked of the page of every paper."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def check_page() -> Callable[[Path], tuple[int, set[str]]]:
    """Checks that each row of a table has a cell for each head, none is NaN, and just its figures lie beside the page.

    Returns how many tables there are, and the names of the figures.
    """

    def check(written: Path) -> tuple[int, set[str]]:
        text = written.read_text()
        tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
        for table in tables:
            assert len({row.count("|") for row in table.splitlines()}) == 1, table
            assert not re.search(r"\bnan\b", table), table
        figures = {path.name for path in written.parent.glob("*.svg")}
        assert {*re.findall(r"\]\((\S+\.svg)\)", text)} == figures
        return len(tables), figures

    return check
