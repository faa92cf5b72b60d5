"""The site of the pages, its references generated from the code, and its notebook."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bestbefore.addon.cli import COMMANDS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(autouse=True)
def _modules_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "site"))


def test_the_references_have_each_command_and_key_with_what_it_accepts() -> None:
    import command_reference
    import configuration_reference

    commands = command_reference.commands()
    assert set(COMMANDS) <= set(re.findall(r"^## (\S+)", commands, re.MULTILINE))
    assert "[docs/hub.md](../hub.md) says what is sent" in commands
    assert "| `--mode forward\\|reverse:URL` | Forward proxy (default), or" in commands
    accepted = configuration_reference.accepted()
    for section, (keys, _) in configuration_reference.SECTIONS.items():
        assert set(keys) - configuration_reference.PARAMETERS <= set(accepted[section])
    rows = configuration_reference.configuration_keys().splitlines()
    assert any(row.startswith("| `keep` | a duration, such as") and "| `7d` | How long a copy" in row for row in rows)
    assert [row for row in rows if row.startswith("| `") and row.endswith("|  |")] == []
    assert any(row.startswith("| `weight` |") and "| `1` |" in row for row in rows)


@pytest.mark.slow
def test_the_notebook_prints_and_draws_what_it_shows() -> None:
    import notebook

    path = DOCS / "frontier.ipynb"
    assert notebook.run(path) == json.loads(path.read_text())


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", DOCS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [path.relative_to(DOCS) for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")]
    assert len(pages) > 90
    for page in pages:
        text = (tmp_path / page.with_suffix(".html")).read_text()
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)', text)
        loaded += re.findall(r'<link rel="(?:stylesheet|icon|preload)"[^>]* href="([^"]+)', text)
        assert [url for url in loaded if "//" in url] == [], page
    index = (tmp_path / "searchindex.js").read_text()
    assert "max_ttl" in index
    assert "first_steps/ship" in index
