from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.run_options import RunOptions, run_options

PLAIN = RunOptions(
    history="complete", warm=None, through=None, refresh=False, min_interval_s=None, per_domain=False,
    objects_path=None, column=None,
)


@click.command()
@run_options
def command(options: RunOptions) -> None:
    click.echo(repr(options))


def test_without_options_requests_are_replayed_with_complete_histories_as_a_whole() -> None:
    assert CliRunner().invoke(command).output == f"{PLAIN!r}\n"


def test_options_are_read() -> None:
    words = ["--history", "both", "--warm", "none", "--through", "plain", "--refresh", "--min-interval", "1.5m",
             "--per-domain", "--objects", "o.csv", "--by", "kind"]
    expected = RunOptions("both", "none", "plain", True, 90.0, True, Path("o.csv"), "kind")
    assert CliRunner().invoke(command, words).output == f"{expected!r}\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "--min-interval 0: expected a duration of more than 0"),
        ("inf", "--min-interval inf: expected a duration of more than 0"),
        ("-1", "--min-interval: '-1' is not a duration: expected a number and s, m, h or d"),
    ],
)
def test_the_interval_is_a_duration_of_more_than_nothing(value: str, message: str) -> None:
    result = CliRunner().invoke(command, ["--min-interval", value])
    assert (result.exit_code, result.stderr) == (2, f"Error: {message}\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"warm": "none"}, "--warm needs --history observed, changed or both"),
        ({"refresh": True, "through": "addon"}, "--through addon: --refresh always uses the plain engine"),
        ({"min_interval_s": 5.0}, "--min-interval needs --refresh"),
        ({"column": "class"}, "--by needs --objects FILE"),
        ({"objects_path": Path("o"), "column": "hits"}, "--by hits: this is the name of a reported value"),
        ({"objects_path": Path("o"), "column": "domain", "per_domain": True}, "--by domain and --per-domain exclude"),
    ],
)
def test_options_that_do_not_go_together_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        replace(PLAIN, **given).check()  # type: ignore[arg-type]
    assert error.value.message.startswith(message)


def test_options_that_go_together_are_not() -> None:
    replace(PLAIN, history="observed", warm="none").check()
    replace(PLAIN, refresh=True, through="plain", min_interval_s=5.0).check()
    replace(PLAIN, objects_path=Path("o"), column="domain").check()
