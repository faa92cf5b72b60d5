"""Whole commands, as a user gives them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bestbefore.replay.commands.recommend import command as recommend
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.traces.columns.files import read_requests, read_updates

DATA = Path(__file__).parents[3] / "data"
FILES = ["--updates", f"{DATA / 'excerpt.updates.csv'}", "--requests", f"{DATA / 'excerpt.requests.csv.gz'}"]
ASKED = ["--stale-rate", "2%", "--jobs", "1", "--policy", "ttl:alpha=0.2", "--policy", "renewal:price=6"]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    read = read_updates(Path(FILES[1]), ignore), read_requests(Path(FILES[3]), ignore)
    for by in ("domain", "object"):
        split(*read, folder / by, by, 4)
    return folder


@pytest.mark.slow
def test_the_recommendation_is_that_of_the_whole_trace(traces: Path) -> None:
    found = [
        CliRunner().invoke(recommend, [*given, *ASKED, "--json"]).stdout
        for given in (FILES, ["--trace", str(traces / "domain")])
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) > 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trace", "{}/domain", *FILES], "--trace DIR replaces --updates, --requests and --log: give one or the"),
        ([*FILES, "--on", "tcp://127.0.0.1:9"], "--on needs --trace DIR, a trace in parts"),
        (["--trace", "{}/domain", "--config", "proxy.toml"], "--config, --state and --store name a proxy"),
        (["--trace", "{}/none"], "{}/none/manifest.json: no such file"),
        (["--trace", "{}/object"], "--trace {}/object: indttl reads groups by domain, and this trace is divided by"),
        (["--trace", "{}/domain", "--group", "all"], "--trace {}/domain: indttl reads the whole trace as one group"),
    ],
)
def test_what_parts_cannot_do_is_refused(arguments: list[str], said: str, traces: Path) -> None:
    result = CliRunner().invoke(recommend, [*(argument.format(traces) for argument in arguments), *ASKED])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {said.format(traces)}")
