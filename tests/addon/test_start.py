import subprocess
import sys
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
