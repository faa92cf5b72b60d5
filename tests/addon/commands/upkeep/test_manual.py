import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon import cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # In a process of its own: click keeps the help option of a command from its first use, and other tests call them
    # without the group that names it.
    folder = tmp_path_factory.mktemp("man") / "man1"
    words = [sys.executable, "-c", "from bestbefore.addon.start import main; main()", "man", "--out", str(folder)]
    subprocess.run(words, check=True, capture_output=True)
    return folder


def test_each_command_has_a_page_with_its_options_and_examples(pages: Path) -> None:
    assert {path.name for path in pages.iterdir()} == {
        "bestbefore.1", *(f"bestbefore-{name}.1" for name in cli.COMMANDS)
    }
    for name in cli.COMMANDS:
        text = (pages / f"bestbefore-{name}.1").read_text().replace("\\-", "-")
        assert f"bestbefore-{name} - " in text
        assert '.SH "EXAMPLES"' in text
        assert "-h, --help" in text
    assert "bestbefore-show(1)" in (pages / "bestbefore.1").read_text().replace("\\-", "-")


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_pages_are_what_groff_takes_without_a_warning(pages: Path) -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", *sorted(map(str, pages.iterdir()))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "bestbefore show --limit 100 --sort unchanged" in done.stdout


def test_one_page_is_printed_and_what_is_none_is_said(bestbefore: Run, pages: Path) -> None:
    assert bestbefore("man", "show") == (0, (pages / "bestbefore-show.1").read_text(), "")
    assert bestbefore("man")[1] == (pages / "bestbefore.1").read_text()
    status, shown, err = bestbefore("man", "sow")
    assert (status, shown, err.count("\n")) == (2, "", 1)
    assert "sow: no such command: expected one of proxy, " in err
    assert bestbefore("man", "show", "--out", "x")[0] == 2
