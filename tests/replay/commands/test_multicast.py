import json

import pytest

from bestbefore.addon.cli import run
from bestbefore.replay.multicast.schedulers import NAMES

SHORT = ["multicast", "--clients", "20", "--days", "1"]


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_json_has_a_line_for_each_scheduler_and_seed_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--scheduler", "rq", "--scheduler", "circ", "--seed", "7", "--seeds", "2", "--downloaders", "2"]
    assert run([*SHORT, *asked, "--json", "--jobs", "1"]) == 0
    found = [json.loads(line) for line in lines(capsys)]
    assert [(one["scheduler"], one["seed"]) for one in found] == [("rq", 7), ("rq", 8), ("circ", 7), ("circ", 8)]
    assert {
        "scheduler", "clients", "seed", "freshness_over_clients", "freshness_over_data", "age_over_clients_s",
        "age_over_data_s", "delay_days", "unfinished",
    } <= set(found[0])
    assert 0.9 < found[0]["freshness_over_clients"] <= 1.0


def test_the_table_has_a_row_for_each_scheduler_and_intervals_from_two_seeds_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SHORT, "--seeds", "2", "--jobs", "1"]) == 0
    head, *rows = lines(capsys)
    assert head.startswith("scheduler  freshness over clients")
    assert [row.split()[0] for row in rows] == list(NAMES)
    assert all("±" in row for row in rows)
    assert run([*SHORT, "--scheduler", "pop"]) == 0
    assert "±" not in lines(capsys)[1]


def test_processes_do_not_change_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for jobs in ("1", "2"):
        assert run([*SHORT, "--scheduler", "pop", "--scheduler", "rq", "--json", "--jobs", jobs]) == 0
        found.append(lines(capsys))
    assert found[0] == found[1]


def test_the_downloaders_that_have_not_everything_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--scheduler", "circ", "--clients", "0", "--downloaders", "30", "--bandwidth", "2", "--days", "2"]
    assert run(["multicast", *asked]) == 0
    said = capsys.readouterr()
    assert int(said.out.splitlines()[1].split()[-1]) > 20
    assert "counted as unfinished" in said.err


@pytest.mark.parametrize(("asked", "problem"), [
    (["--scheduler", "cric"], "--scheduler: unknown scheduler 'cric', did you mean 'circ'? (known: circ, pop, "),
    (["--clients", "0"], "--clients 0 without --downloaders: expected at least one client"),
    (["--clients", "-1"], "Invalid value for '--clients'"),
    (["--bandwidth", "0"], "--bandwidth 0: expected a number of chunks per day above 0, at most 100,000"),
    (["--bandwidth", "many"], "--bandwidth many: expected a number of chunks per day above 0"),
    (["--sites-per-client", "0"], "--sites-per-client 0: expected a number above 0, at most 21,000"),
    (["--skew", "80"], "--skew 80: expected two shares in percent, such as 80/5"),
    (["--skew", "0/5"], "--skew 0/5: expected two shares in percent, such as 80/5"),
    (["--days", "0"], "Invalid value for '--days'"),
    (["--law", "C"], "Invalid value for '--law'"),
])
def test_bad_input_is_refused_in_a_line(
    asked: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["multicast", *asked]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert len(said.splitlines()) == 1
