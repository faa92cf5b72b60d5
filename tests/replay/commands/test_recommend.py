from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.addon.config.load import load_config
from bestbefore.addon.rules import HostPattern
from bestbefore.replay.commands.recommend import command

FEW = ("--policy", "ttl:alpha=0.02..0.5/2", "--policy", "indhist:theta=0.02..0.5/2", "--policy", "fixed:interval=1h")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> Path:
    """The current folder, with the excerpt as u.csv and r.csv.gz."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").symlink_to(data / "excerpt.updates.csv")
    (tmp_path / "r.csv.gz").symlink_to(data / "excerpt.requests.csv.gz")
    return tmp_path


def run(*arguments: str, rate: str = "2%") -> Result:
    given = ["--updates", "u.csv", "--requests", "r.csv.gz", "--stale-rate", rate]
    return CliRunner().invoke(command, [*given, *arguments])


def hosts(path: Path) -> list[HostPattern]:
    return [rule.match.host for rule in load_config(path).rules.domains]


def test_what_is_printed_is_a_configuration_that_the_proxy_takes(folder: Path) -> None:
    result = run(*FEW)
    assert (result.exit_code, result.stderr) == (0, "")
    (folder / "proxy.toml").write_text(result.stdout)
    assert hosts(folder / "proxy.toml") == [HostPattern("ipr"), HostPattern("cft")]
    assert result.stdout.startswith("# The fewest validations with at most 2 % stale hits among")
    assert "# Histories: observed" in result.stdout
    assert "# Caches: one for all clients" in result.stdout


@pytest.mark.parametrize("rate", ["0", "0%", "0.0"])
def test_no_stale_hits_at_all_can_be_asked_for(rate: str) -> None:
    """Which a policy that validates at each request gives."""
    result = run("--policy", "ttl:alpha=0.5", "--policy", "fixed:interval=0s", rate=rate)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("# The fewest validations with at most 0 % stale hits among")
    assert 'policy = "fixed' in result.stdout
    assert 'policy = "ttl' not in result.stdout


@pytest.mark.parametrize("rate", ["-0.01", "1.01", "101%", "nan", "1_0%"])
def test_what_is_no_share_is_refused(rate: str) -> None:
    result = run("--policy", "ttl", rate=rate)
    assert result.exit_code == 2
    assert f"--stale-rate {rate}: expected a share from 0 to 1, or from 0% to 100%" in result.stderr


@pytest.mark.slow
def test_with_a_file_a_table_is_printed_in_its_place(folder: Path) -> None:
    printed = run(*FEW)
    result = run(*FEW, "--out", "proxy.toml", "--jobs", "2")
    assert (folder / "proxy.toml").read_text() == printed.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[:4]] == ["domain", "ipr", "cft", "[default]"]
    assert result.stderr.splitlines()[-1].endswith("the proxy takes it: bestbefore proxy --config proxy.toml")


@pytest.mark.slow
def test_only_a_file_that_it_wrote_is_replaced(folder: Path) -> None:
    (folder / "mine.toml").write_text("[proxy]\noffline = true\n")
    refused = run(*FEW, "--out", "mine.toml")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--out mine.toml: exists and was not written by bestbefore recommend: give another file" in refused.stderr
    assert (folder / "mine.toml").read_text() == "[proxy]\noffline = true\n"
    (folder / "new.toml").touch()
    assert [run("--policy", policy, "--out", "new.toml").exit_code for policy in ("ttl", "indhist")] == [0, 0]
    assert load_config(folder / "new.toml").rules.default.policy.name == "indhist"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_configuration_that_cannot_be_written_is_printed() -> None:
    """A full disk shows only when all is counted."""
    printed = run(*FEW)
    result = run(*FEW, "--out", "/dev/full")
    assert isinstance(result.exception, OSError)
    assert result.stdout.endswith(f"\n\n{printed.stdout}")


def test_what_cannot_be_reached_is_said_and_the_nearest_chosen(folder: Path) -> None:
    result = run("--policy", "fixed:interval=1h", rate="0", )
    assert result.exit_code == 0
    assert result.stderr == (
        "bestbefore recommend: warning: no candidate keeps to 0 % stale hits for ipr, cft, all domains together: "
        "the nearest is chosen\n"
    )
    assert result.stdout.count("# No candidate keeps to 0 %: this is the nearest.") == 3


def test_a_choice_that_rests_on_too_little_is_warned_of() -> None:
    """From the last two days only."""
    result = run("--policy", "ttl", "--test-start", "1707350000")
    assert result.exit_code == 0
    assert "warning: the choice for all domains together is little more than a guess: " in result.stderr


@pytest.mark.slow
def test_the_stale_rate_may_be_a_share_or_in_per_cent() -> None:
    printed = {run("--policy", "ttl", rate=rate).stdout for rate in ("0.02", "2 %", " .02")}
    assert len(printed) == 1
    assert "at most 2 % stale hits" in printed.pop()


def test_a_share_that_was_perhaps_meant_in_per_cent_is_warned_of() -> None:
    result = run("--policy", "ttl", rate="1")
    assert result.exit_code == 0
    assert "warning: 100 % stale hits are asked for; 1 % is written 1% or 0.01\n" in result.stderr
    assert "is written" not in run("--policy", "ttl", rate="0.1").stderr


@pytest.mark.parametrize("rate", ["", "%", "a", "nan", "-0.1", "1.5", "101%", "0_1", "1,5%"])
def test_another_stale_rate_is_refused(rate: str) -> None:
    result = run(rate=rate)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--stale-rate {rate}: expected a share from 0 to 1, or from 0% to 100%" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "ttl:alpha=0..1/3"], "--policy ttl:alpha=0..1/3: 'alpha=0..1/3': values that grow by a factor"),
        (["--policy", "nutch"], "--policy nutch: it can only be replayed; expected one of ttl, indhist, agghist"),
        (["--policy", "ttl:max_ttl=inf"], "--policy ttl:max_ttl=inf: max_ttl=inf can only be replayed; expected a dur"),
        (["--out", "none/proxy.toml"], "--out none/proxy.toml: the folder does not exist"),
        (["--test-start", "5000000000"], "no request to replay"),
        (["--requests", "s.csv"], "--requests s.csv: given twice, expected one file (first r.csv.gz)"),
        (["--origin", "1706300000", "--test-start", "1706200000"], "the test start, 1706200000, must not lie before"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith(f"Error: {message}")


@pytest.mark.slow
def test_the_hosts_of_a_log_are_its_domains(folder: Path) -> None:
    """Four days of a log with the host before each line. One page has a new size every 20 minutes, one each hour."""
    lines = []
    for minute in range(0, 4 * 1440, 2):
        day, hour = 1 + minute // 1440, minute // 60 % 24
        who_and_when = f"192.0.2.{minute % 7} - - [{day:02}/Jan/2026:{hour:02}:{minute % 60:02}:00 +0000]"
        for host, size in (("news.example.org", 1000 + minute // 20), ("Shop.example.org", 500 + minute // 60)):
            lines.append(f'{host}:80 {who_and_when} "GET / HTTP/1.1" 200 {size} "-" "Mozilla/5.0"\n')
    (folder / "access.log").write_text("".join(lines))
    arguments = ["--log", "access.log", "--stale-rate", "0.2", "--policy", "fixed:interval=1m..1d/9"]
    result = CliRunner().invoke(command, [*arguments, "--out", "o.toml"])
    assert result.exit_code == 0, result.stderr
    rules = load_config(folder / "o.toml").rules
    assert [rule.match.host.text for rule in rules.domains] == ["news.example.org", "shop.example.org"]
    news, shop = (rule.policy.policy.interval_s for rule in rules.domains)  # type: ignore[attr-defined]
    assert news < shop
