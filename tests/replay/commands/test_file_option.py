import click
import pytest
from click.testing import CliRunner

from bestbefore.replay.commands.file_option import file_option


@click.command()
@file_option("--log", "log_path", "A log.")
def command(log_path: object) -> None:
    click.echo(repr(log_path))


@pytest.mark.parametrize(("arguments", "given"), [([], "None"), (["--log", "a.log"], "PosixPath('a.log')")])
def test_a_file_is_a_path_and_need_not_be_named(arguments: list[str], given: str) -> None:
    assert CliRunner().invoke(command, arguments).output == f"{given}\n"


def test_a_second_file_is_refused_where_the_first_would_be_left_out() -> None:
    result = CliRunner().invoke(command, ["--log", "a.log.1", "--log", "a.log"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: --log a.log: given twice, expected one file (first a.log.1)\n"
