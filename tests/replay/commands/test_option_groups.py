from dataclasses import dataclass

import click
from click.testing import CliRunner

from bestbefore.replay.commands.option_groups import passed_as


@dataclass(frozen=True)
class Size:
    width: int
    height: int


@click.command()
@click.option("--name")
@passed_as(Size, "size")
@click.option("--width", type=int)
@click.option("--height", type=int, default=3)
def command(name: str, size: Size) -> None:
    """Draw a box."""
    click.echo(f"{name} {size}")


def test_the_options_of_a_record_are_one_argument_and_others_stay():
    result = CliRunner().invoke(command, ["--width", "2", "--name", "box"])
    assert result.output == "box Size(width=2, height=3)\n"


def test_the_help_is_that_of_the_command():
    assert "Draw a box." in CliRunner().invoke(command, ["--help"]).output
