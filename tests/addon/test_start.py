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
