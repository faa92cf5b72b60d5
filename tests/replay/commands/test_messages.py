import click
import pytest

from bestbefore.replay.commands.messages import say, warn


def test_a_message_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("replay"), info_name="replay"):
        say("done")
        warn("no update")
    assert capsys.readouterr().err == "bestbefore replay: done\nbestbefore replay: warning: no update\n"
