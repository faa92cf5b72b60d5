import click
import pytest
from click.testing import CliRunner

from bestbefore.replay.commands.number_option import is_positive, number


@click.command()
@click.option("--n", callback=number("a size of more than 0", is_positive))
def command(n: float | None) -> None:
    click.echo(repr(n))


@pytest.mark.parametrize(("words", "parsed"), [([], "None"), (["--n", "2.5"], "2.5"), (["--n", "1e3"], "1000.0")])
def test_a_number_is_parsed(words: list[str], parsed: str) -> None:
    assert CliRunner().invoke(command, words).output == f"{parsed}\n"


@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "x", "", "1_000"])
def test_anything_else_is_refused_with_what_was_expected(value: str) -> None:
    result = CliRunner().invoke(command, ["--n", value])
    assert result.exit_code == 2
    assert f"--n {value}: expected a size of more than 0" in result.stderr
