"""The values that shells complete: in the words of the metavars, and at a real command line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from bestbefore.addon.commands.completed_values import STORES, complete_store, complete_words
from bestbefore.addon.commands.proxy import command as proxy
from bestbefore.addon.commands.upkeep.completion import VARIABLE
from bestbefore.addon.commands.upkeep.doctor import command as doctor
from bestbefore.addon.store.backend.connections.addresses import EXPECTED

COMMAND = Path(sys.executable).parent / "bestbefore"
CONTEXT = click.Context(click.Command("any"))


def test_words_are_completed_and_what_a_user_must_write_is_not() -> None:
    option = click.Option(["--format"], metavar="line|json|reverse:URL|HOST:PORT|TEMPLATE|off")
    assert complete_words(CONTEXT, option, "") == ["line", "json", "off"]
    assert complete_words(CONTEXT, option, "j") == ["json"]
    assert complete_words(CONTEXT, click.Option(["--plain"]), "") == []


def test_stores_begin_as_the_error_for_a_wrong_one_says() -> None:
    option = click.Option(["--store"])
    assert complete_store(CONTEXT, option, "redis+") == ["redis+cluster://", "redis+sentinel://"]
    assert all(store.removesuffix("/") in EXPECTED for store in STORES)


def test_the_shell_completes_values() -> None:
    environ = {**os.environ, VARIABLE: "bash_complete", "COMP_WORDS": "bestbefore show --store unix", "COMP_CWORD": "3"}
    done = subprocess.run([COMMAND], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["plain,unix:///"]


@pytest.mark.parametrize(
    ("command", "name", "completion"),
    [
        (proxy, "store", complete_store),
        (proxy, "mode", complete_words),
        (proxy, "admin", complete_words),
        (proxy, "log_format", complete_words),
        (doctor, "store", complete_store),
        (doctor, "origin", complete_words),
    ],
)
def test_options_complete_their_values(command: click.Command, name: str, completion: Callable[..., list[str]]) -> None:
    option = next(param for param in command.params if param.name == name)
    completed = [item.value for item in option.shell_complete(CONTEXT, "")]
    assert completed == completion(CONTEXT, option, "")
    assert completed
