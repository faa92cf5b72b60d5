import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bestbefore import addon
from bestbefore.addon import start


def test_an_interrupt_while_the_command_line_is_imported_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Importing(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setattr(addon, "cli", Importing("cli"), raising=False)
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 130


def test_what_only_replays_need_is_not_imported_by_the_proxy() -> None:
    script = (
        "import sys; from bestbefore.addon.commands import proxy; from bestbefore.addon.entry import bestbefore_addon; "
        "print(*(name for name in ('numba', 'llvmlite', 'bestbefore.replay') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_interpreter_that_is_too_old_is_told_so_before_it_meets_newer_syntax() -> None:
    """In an interpreter of its own, as an old one may not have the packages that are imported here."""
    script = f"import runpy, sys; sys.version_info = (3, 11, 2); runpy.run_path({start.__file__!r})['main']()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"bestbefore needs Python 3.12 or newer; this is 3.11 ({sys.executable})\n"


def test_the_entry_point_has_no_syntax_that_is_newer_than_the_oldest_interpreter_in_use() -> None:
    ast.parse(Path(start.__file__).read_text(), feature_version=(3, 8))
