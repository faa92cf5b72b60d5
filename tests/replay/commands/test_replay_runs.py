"""`bestbefore replay` with other histories, without requests, and in parts."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.replay.commands.replay import command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> Path:
    """The current folder, with the excerpts as u.csv, r.csv.gz and mail.csv, and what kind each object is as o.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").symlink_to(data / "excerpt.updates.csv")
    (tmp_path / "r.csv.gz").symlink_to(data / "excerpt.requests.csv.gz")
    (tmp_path / "mail.csv").symlink_to(data / "excerpt.arrivals.csv")
    rows = csv.DictReader((data / "excerpt.updates.csv").read_text().splitlines())
    kinds = {row["object"]: row["object"].partition("/")[0] for row in rows}
    (tmp_path / "o.csv").write_text("object,class\n" + "".join(f"{o},{kind}\n" for o, kind in kinds.items()))
    return tmp_path


REQUESTS = (
    "--updates", "u.csv", "--requests", "r.csv.gz", "--origin", "1706227200", "--test-start", "1706918400",
    "--cache", "shared",
)
MAIL = ("--updates", "mail.csv", "--refresh")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def rows_of(result: Result) -> list[dict[str, object]]:
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.usefixtures("folder")
def test_both_histories_give_two_objects_a_policy_and_each_says_which(golden: Path) -> None:
    specs = ["ttl:alpha=0.2", "indhist:theta=0.2"]
    rows = rows_of(run(*REQUESTS, "--history", "both", "--policy", specs[0], "--policy", specs[1], "--json"))
    assert [(row["policy"], row["history"], row.get("warm")) for row in rows] == [
        ("ttl", "complete", None), ("ttl", "observed", "contacts"),
        ("indhist", "complete", None), ("indhist", "observed", "contacts"),
    ]
    complete = json.loads((golden / "excerpt_counts.json").read_text())["shared"]
    observed = json.loads((golden / "excerpt_observed_counts.json").read_text())["contacts"]
    for row, expected in zip(rows, [counts[spec] for spec in specs for counts in (complete, observed)], strict=True):
        assert {name: row[name] for name in expected} == expected


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("warm", ["contacts", "none", "complete"])
def test_observed_histories_begin_with_what_is_said(golden: Path, warm: str) -> None:
    (row,) = rows_of(
        run(*REQUESTS, "--history", "observed", "--warm", warm, "--policy", "indagg:theta=0.2,threshold=0.5", "--json")
    )
    expected = json.loads((golden / "excerpt_observed_counts.json").read_text())[warm]["indagg:theta=0.2,threshold=0.5"]
    assert (row["history"], row["warm"]) == ("observed", warm)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.usefixtures("folder")
def test_a_table_of_both_histories_says_which() -> None:
    header, complete, observed = run(*REQUESTS, "--history", "both", "--policy", "ttl").stdout.splitlines()
    assert header.split()[:2] == ["policy", "history"]
    assert (complete.split()[:2], observed.split()[:2]) == (["ttl", "complete"], ["ttl", "observed"])


@pytest.mark.usefixtures("folder")
def test_refreshes_are_counted_with_their_delays() -> None:
    (row,) = rows_of(run(*MAIL, "--policy", "oracle", "--json"))
    assert list(row.items()) == [
        ("policy", "oracle"), ("params", {}), ("cache", None), ("history", "complete"), ("through", "plain"),
        ("refreshes", 266), ("updates", 266), ("unfetched", 0), ("mean_delay_s", 0.0), ("max_delay_s", 0.0),
    ]
    header, never = run(*MAIL, "--policy", "never").stdout.splitlines()
    assert header.split("  ")[-1].strip() == "max delay s"
    assert never.split() == ["never", "plain", "0", "266", "266", "-", "-"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "refreshes"), [((), 19283), (("--min-interval", "1m"), 322)])
def test_the_minimum_interval_is_a_second_unless_another_is_given(arguments: tuple[str, ...], refreshes: int) -> None:
    """The last message comes 19,283 s after the test start."""
    (row,) = rows_of(run(*MAIL, "--policy", "always", "--test-start", "1042300000", "--json", *arguments))
    assert row["refreshes"] == refreshes


@pytest.mark.usefixtures("folder")
def test_parts_follow_the_whole_and_add_up_to_it() -> None:
    rows = rows_of(run(*REQUESTS, "--per-domain", "--objects", "o.csv", "--policy", "ttl", "--json"))
    whole, domains, classes = rows[0], [r for r in rows if "domain" in r], [r for r in rows if "class" in r]
    assert 1 + len(domains) + len(classes) == len(rows)
    assert rows[1:] == domains + classes
    kinds = ["cft", "dotgov", "ipr", "legislators", "scoop-extras"]
    assert [row["domain"] for row in domains] == [row["class"] for row in classes] == kinds
    for parts in (domains, classes):
        assert sum(row["hits"] for row in parts) == whole["hits"]  # type: ignore[misc]
    assert all(row["policy"] == "ttl" and row["params"] == {"alpha": 0.1} for row in rows)


@pytest.mark.usefixtures("folder")
def test_objects_can_be_grouped_by_any_column_and_those_left_out_are_reported() -> None:
    Path("o.csv").write_text("object,list\narrival/a,2002\n")
    result = run(*MAIL, "--objects", "o.csv", "--by", "list", "--policy", "miniflux", "--json")
    assert result.stderr == "bestbefore replay: warning: o.csv: 1 objects are missing, such as 'arrival/b'\n"
    assert [json.loads(line).get("list") for line in result.stdout.splitlines()] == [None, "", "2002"]
    Path("o.csv").write_text("object\narrival/a\narrival/b\n")
    text = run(*MAIL, "--objects", "o.csv", "--by", "object", "--policy", "miniflux").stdout.split("\n\n")[1]
    assert [line.split()[2] for line in text.splitlines()] == ["object", "arrival/a", "arrival/b"]


def test_a_folder_holds_parts_too_and_one_folder_for_each_kind_of_history(folder: Path) -> None:
    result = run(*REQUESTS, "--history", "both", "--per-domain", "--policy", "ttl:alpha=0.1..0.2/2", "--json",
                 "--out", "out")
    printed = rows_of(result)
    for history in ("complete", "observed"):
        kept = json.loads((folder / "out" / history / "counts.json").read_text())
        mine = [row for row in printed if row["history"] == history]
        assert kept[: len(mine)] == mine
        assert {row["policy"] for row in kept[len(mine):]} == {"oracle"}
        assert history in (folder / "out" / history / "report.html").read_text()
    again = run(*REQUESTS, "--history", "both", "--per-domain", "--policy", "ttl:alpha=0.1..0.2/2", "--json",
                "--out", "out")
    assert again.stdout == result.stdout


def test_a_report_of_refreshes_leaves_out_what_has_no_delay(folder: Path) -> None:
    run(*MAIL, "--policy", "miniflux:factor=1..4/3", "--policy", "never", "--out", "out")
    report = (folder / "out" / "report.html").read_text()
    assert "miniflux:factor=2" in report
    assert "against refreshes<" in report
    assert "<code>never</code>" not in report
    rows = json.loads((folder / "out" / "counts.json").read_text())
    assert [row["mean_delay_s"] is None for row in rows] == [False, False, False, True, False]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*MAIL, "--requests", "r.csv.gz"], "--refresh uses no requests: give either --refresh or --requests FILE"),
        ([*MAIL, "--cache", "client"], "--cache client: --refresh uses no cache: give one of them"),
        (["--updates", "u.csv"], "the trace has no requests: expected --requests FILE, a log of requests, or --refr"),
        ([*MAIL, "--min-interval", "1e-9"], "the minimum interval, 1e-09 s, is too small at the time 1042"),
        ([*MAIL, "--test-start", "5", "--origin", "6"], "the test start, 5, must not lie before the origin, 6"),
        ([*MAIL, "--objects", "none.csv"], "none.csv: No such file or directory"),
        ([*MAIL, "--objects", "u.csv"], "u.csv: line 1: no column 'class' in 'object,time': expected object,class"),
        ([*MAIL, "--through", "fast"], "--through fast: --refresh always uses the plain engine"),
        ([*REQUESTS, "--policy", "oracle", "--through", "addon"], "--through addon, --policy oracle: the proxy cannot"),
        ([*MAIL, "--warm", "none"], "--warm needs --history observed, changed or both"),
    ],
)
def test_wrong_input_is_exit_2_and_says_what_is_wrong(arguments: list[str], message: str) -> None:
    result = run(*arguments, "--policy", "ttl")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {message}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("folder")
def test_all_policies_go_through_the_fast_engine_unless_another_is_asked_for() -> None:
    arguments = (*REQUESTS, "--history", "both", "--policy", "ttl", "--policy", "nutch", "--per-domain")
    rows = rows_of(run(*arguments, "--json"))
    assert {(row["policy"], row["through"]) for row in rows} == {("ttl", "fast"), ("nutch", "fast")}
    plain = rows_of(run(*arguments, "--json", "--through", "plain"))
    assert [{**row, "through": "plain"} for row in rows] == plain


def test_a_report_says_which_policies_went_through_what(folder: Path) -> None:
    run(*REQUESTS, "--history", "observed", "--policy", "ttl", "--policy", "nutch", "--out", "out")
    assert "fast for ttl, nutch, oracle" in (folder / "out" / "report.html").read_text()


def test_what_one_engine_finished_is_not_taken_for_what_another_would_count(folder: Path) -> None:
    for through in ("fast", "plain"):
        run(*REQUESTS, "--policy", "ttl:alpha=0.1..0.2/2", "--through", through, "--out", "out")
    assert len((folder / "out" / "finished.jsonl").read_text().splitlines()) == 6


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("cache", [pytest.param("client", marks=pytest.mark.slow), "shared"])
def test_all_engines_print_the_same(cache: str) -> None:
    arguments = ("--updates", "u.csv", "--requests", "few.csv", "--origin", "1706227200", "--cache", cache,
                 "--policy", "indttl", "--policy", "agghist:max_ttl=1h", "--per-domain", "--json")
    lines = gzip.decompress(Path("r.csv.gz").read_bytes()).splitlines(keepends=True)
    Path("few.csv").write_bytes(b"".join(lines[:200]))
    printed = [rows_of(run(*arguments, "--through", through)) for through in ("fast", "plain", "addon")]
    assert [{row.pop("through") for row in rows} for rows in printed] == [{"fast"}, {"plain"}, {"addon"}]
    assert printed[0] == printed[1] == printed[2]
