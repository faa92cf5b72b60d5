import click
import pytest
from click.testing import CliRunner

from bestbefore.replay.commands.clusters.on_option import on_option, opened_cluster


@click.command("work")
@on_option
def command(on: str | None) -> None:
    with opened_cluster(on, 2):
        pass


@pytest.mark.slow
def test_an_address_where_nothing_is_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestbefore.replay.cluster.opening.CONNECTED_WITHIN_S", 0.5)
    result = CliRunner().invoke(command, ["--on", "tcp://127.0.0.1:9"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: tcp://127.0.0.1:9: no scheduler of Dask answers there: ")
    assert result.stderr.count("\n") == 1
