"""`bestbefore evaluate --trace` beside the same on files."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.cluster.opening import start_cluster
from bestbefore.replay.commands.evaluate import NAME, command
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.traces.columns.files import read_requests, read_updates

DATA = Path(__file__).parents[3] / "data"
FILES = ["--updates", f"{DATA / 'excerpt.updates.csv'}", "--requests", f"{DATA / 'excerpt.requests.csv.gz'}"]
ASKED = ["--origin", "1706227200", "--test-start", "1707350400", "--group", "prefix", "--points", "2"]
ASKED += ["--cache", "shared", "--history", "observed", "--stale-rate", "5%"]


def run(*arguments: str) -> Result:
    return CliRunner(env={"BESTBEFORE_TRACES": None}).invoke(command, arguments)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    read = read_updates(Path(FILES[1]), ignore), read_requests(Path(FILES[3]), ignore)
    for by in ("prefix", "object"):
        split(*read, folder / by, by, 4)
    return folder


@pytest.mark.slow
def test_the_evaluation_is_that_of_the_whole_trace(traces: Path, tmp_path: Path) -> None:
    whole = run(*FILES, *ASKED, "--pairings", "0", "--jobs", "1")
    parts = [run("--trace", str(traces / "prefix"), *ASKED, "--jobs", "1", "--out", str(tmp_path)) for _ in range(2)]
    page = f"{tmp_path / NAME}.md\n"
    assert whole.exit_code == 0, whole.stderr
    assert [one.stdout for one in parts] == [whole.stdout + page] * 2
    text = (tmp_path / f"{NAME}.md").read_text()
    assert "From a trace in parts, of 6,565 requests and 453 updates." in text
    assert "This run made 0 replays of parts in " in text


@pytest.mark.slow
def test_the_processor_time_of_a_cluster_is_not_that_of_this_machine(traces: Path, tmp_path: Path) -> None:
    with start_cluster(1, lambda _: None) as cluster:
        given = ["--trace", str(traces / "prefix"), *ASKED, "--on", cluster.client.scheduler.address]
        assert run(*given, "--out", str(tmp_path)).exit_code == 0
    text = (tmp_path / f"{NAME}.md").read_text()
    assert " replays of parts.\n" in text
    assert "processor time" not in text


@pytest.mark.parametrize(("arguments", "said"), [
    (["--trace", "{}/prefix", *FILES], "--trace DIR replaces --updates, --requests and --log: give one or the others"),
    (["--on", "tcp://x:1"], "--on needs --trace DIR"),
    (["--trace", "{}/prefix", "--pairings", "2"], "--pairings 2: histories are exchanged between all objects"),
    (["--trace", "{}/object", "--group", "prefix"], "agghist reads groups by prefix, and this trace is divided by ob"),
    (["--trace", "{}/prefix"], "agghist reads the whole trace as one group, which parts do not hold"),
    (["--trace", "{}/prefix", "--group", "prefix", "--test-start", "9e9"], "no request at or after the test start"),
    (["--trace", "{}"], "manifest.json: no such file"),
])
def test_what_does_not_fit_is_refused(arguments: list[str], said: str, traces: Path) -> None:
    result = run(*[argument.format(traces) for argument in arguments], "--jobs", "1")
    assert result.exit_code == 2
    assert said in result.stderr
