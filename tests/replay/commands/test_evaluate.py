"""`bestbefore evaluate` on small files; what it computes is held in tests/replay/evaluation."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.commands.evaluate import NAME, command

DATA = Path(__file__).parents[2] / "data"
TRACE = ["--updates", str(DATA / "excerpt.updates.csv"), "--requests", str(DATA / "excerpt.requests.csv.gz"),
         "--origin", "1706227200", "--test-start", "1707350400", "--jobs", "1"]  # fmt: skip
QUICK = ["--points", "2", "--pairings", "0", "--cache", "shared", "--history", "complete", "--stale-rate", "5%"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_trace_is_evaluated_and_the_page_says_how(tmp_path: Path) -> None:
    given = [*TRACE, *QUICK, "--pairings", "1", "--history", "first-day", "--policy", "squid:percent=1..80/2"]
    given += ["--out", str(tmp_path)]
    result = run(*given)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "the given trace, one shared cache, complete histories: validations as multiples of the best of the five"
    )
    assert lines[1].split() == ["policy", "5", "%"]
    assert {"squid:percent", "fixed:interval", "oracle"} <= {line.split()[0] for line in lines[2:-1] if line}
    assert any(line.startswith("`squid:percent` meets ") for line in lines)
    page = (tmp_path / f"{NAME}.md").read_text()
    assert "## All policies: the given trace" in page
    assert "1 other in which" in " ".join(page.split())
    assert result.stdout.splitlines()[-1] == str(tmp_path / f"{NAME}.md")
    assert "minutes of processor time for 60 replays." in page
    kept = (tmp_path / f"{NAME}.jsonl").read_text()
    assert run(*given).stdout == result.stdout
    assert (tmp_path / f"{NAME}.jsonl").read_text() == kept
    assert "for 0 replays; 60 others were finished in earlier runs." in (tmp_path / f"{NAME}.md").read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--policy", "nosuch"], "--policy nosuch: unknown policy"),
        (["--policy", "squid:percent=1..9/2", "--policy", "squid:percent=2..9/2"], "--policy: squid:percent is given"),
        (["--stale-rate", "0"], "--stale-rate 0: expected a share above 0"),
        (["--test-start", "9e9"], "no request at or after the test start"),
        (["--test-start", "1"], "--test-start 1 lies before --origin"),
    ],
)
def test_what_cannot_be_evaluated_is_said(given: list[str], message: str) -> None:
    result = run(*TRACE, *QUICK, *given)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"Error: {message}")


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--traces", str(tmp_path)])
    assert (result.exit_code, "no such file; expected the folder of traces to have it" in result.stderr) == (2, True)
    alone = CliRunner(env={"BESTBEFORE_TRACES": None}).invoke(command, [])
    assert (alone.exit_code, "expected --updates FILE" in alone.stderr) == (2, True)


def test_only_the_first_day_may_be_evaluated(tmp_path: Path) -> None:
    once = run(*TRACE, *QUICK[:4], "--cache", "client", "--cache", "client", "--history", "first-day",
               "--policy", "squid:percent=1..80/2", "--out", str(tmp_path))  # fmt: skip
    assert once.exit_code == 0, once.stderr
    assert once.stdout.startswith("the given trace, first day: stale hits with the validations of ttl")


def test_a_half_of_the_objects_may_be_used() -> None:
    half = run(*TRACE, *QUICK, "--half", "tuning")
    assert half.exit_code == 0
    assert half.stdout != run(*TRACE, *QUICK).stdout
