"""The command in the greeting works as printed."""

from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.pages.greeting import greeting, show_command

DEFAULT = Path("/home/me/.local/state/bestbefore")


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def command(settings: Settings, config: Path | None = None, program: str = "proxy.py") -> str:
    return show_command(settings, DEFAULT, config, program)


def test_what_is_not_the_default_is_in_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(Settings(state=DEFAULT)) == "bestbefore show"
    assert command(Settings(state=Path("/my state"))) == "bestbefore show --state '/my state'"
    redis = Settings(state=DEFAULT, store="redis://localhost/1")
    assert command(redis, Path("a.toml")) == f"bestbefore show --config {tmp_path}/a.toml --store redis://localhost/1"


def test_a_password_is_not_shown() -> None:
    assert command(Settings(state=DEFAULT, store="redis://me:secret@localhost/1")) == "bestbefore show"


def test_a_program_that_is_not_on_the_path_is_named_by_its_own(tmp_path: Path) -> None:
    program = tmp_path / "bestbefore"
    program.touch(0o755)
    elsewhere = tmp_path / "venv" / "bestbefore"
    assert command(Settings(state=DEFAULT), program=str(elsewhere)) == "bestbefore show", "there is no such file"
    elsewhere.parent.mkdir()
    elsewhere.touch(0o755)
    assert command(Settings(state=DEFAULT), program=str(elsewhere)) == f"{elsewhere} show"
    assert command(Settings(state=DEFAULT), program=str(program)) == "bestbefore show"


def test_several_processes_are_named() -> None:
    given: dict[str, Any] = {
        "proxy_url": "http://127.0.0.1:8080",
        "state": DEFAULT,
        "ca_file": DEFAULT,
        "bundle": DEFAULT,
        "admin_url": None,
        "store": "embedded",
        "traffic": None,
        "show": "show",
    }
    assert "\n  workers      2" in greeting(**given, workers=2)
