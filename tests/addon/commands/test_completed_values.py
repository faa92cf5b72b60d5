"""The values that shells complete: in the words of the metavars, and at a real command line."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bestbefore.addon.commands.completed_values import STORES, complete_store, complete_words
from bestbefore.addon.commands.upkeep.completion import VARIABLE
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


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("proxy --store e", ["embedded"]),
        ("show --store unix", ["unix:///"]),
        ("proxy --log-format s", ["squid"]),
        ("doctor --origin o", ["off"]),
        ("hub --admin o", ["off"]),
    ],
)
def test_the_shell_completes_values(words: str, completed: list[str]) -> None:
    environ = {**os.environ, VARIABLE: "bash_complete", "COMP_WORDS": f"bestbefore {words}", "COMP_CWORD": "3"}
    done = subprocess.run([COMMAND], env=environ, capture_output=True, text=True, check=True)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == completed
