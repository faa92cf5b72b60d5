import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from bestbefore.addon.cli import run
from bestbefore.policies.prefetch.allocation import continuous, objectives

FIVE = "id,rate\ne1,1\ne2,2\ne3,3\ne4,4\ne5,5\n"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> Path:
    """The current folder, with five objects as o.csv and the excerpt as u.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "o.csv").write_text(FIVE)
    (tmp_path / "u.csv").symlink_to(data / "excerpt.updates.csv")
    return tmp_path


def plan(*options: str, objective: str = "freshness", budget: str = "5", source: str = "--objects=o.csv") -> int:
    return run(["plan", source, "--budget", budget, "--objective", objective, *options])


@pytest.mark.parametrize("objective", ["freshness", "age", "delay"])
def test_json_is_the_objective_and_the_rates_and_nothing_else(objective: str, capsys: Capture) -> None:
    assert plan("--json", objective=objective) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    rates = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = getattr(continuous, objective)(rates, None, 5.0)
    assert list(told) == ["objective", "rates"]
    assert told["rates"] == dict(zip(["e1", "e2", "e3", "e4", "e5"], expected.tolist(), strict=True))
    assert told["objective"] == pytest.approx(float(getattr(objectives, objective)(rates, expected).mean()))


def test_a_target_finds_its_budget(capsys: Capture) -> None:
    assert run(["plan", "--objects=o.csv", "--target", "freshness=0.8"]) == 0
    out, err = capsys.readouterr()
    assert "freshness=0.8 needs 29.9" in err
    assert "\nthis plan           0.8 " in out


@pytest.mark.parametrize("options", [
    [], ["--budget", "5"], ["--objective", "delay"], ["--target", "delay=1h", "--budget", "5"],
    ["--target", "delay=1h", "--objective", "age"], ["--target", "delay"],
])  # fmt: skip
def test_either_a_budget_or_a_target_is_expected(options: list[str], capsys: Capture) -> None:
    assert run(["plan", "--objects=o.csv", *options]) == 2
    assert "expected" in capsys.readouterr().err


def test_weights_count_in_the_objective(folder: Path, capsys: Capture) -> None:
    """One contact for the first: F(1) = 1 - 1/e, the weight 3; the second, without weight, does not count."""
    (folder / "o.csv").write_text("id,rate,weight\na,1,3\nb,1,0\n")
    assert plan("--json", budget="1") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rates"] == {"a": 1.0, "b": 0.0}
    assert told["objective"] == pytest.approx(1.0 - np.exp(-1.0))


def test_requests_multiply_the_weights_and_tell_how_many_get_an_outdated_answer(folder: Path, capsys: Capture) -> None:
    """One contact for a, of which half as many requests are embarrassing: F(1) = 1 - 1/e; b is always outdated."""
    (folder / "o.csv").write_text("id,rate,weight,max\na,1,0.5,1\nb,1,1,0\n")
    (folder / "r.csv").write_text("client,object,time\nx,a,1\ny,a,2\nx,b,3\nx,unknown,4\n")
    assert plan("--requests", "r.csv", budget="1") == 0
    embarrassed = (2 * 0.5 * np.exp(-1.0) + 1.0) / 3.0
    assert f"embarrassment: {100 * embarrassed:.3g} % of requests get a wrong answer" in capsys.readouterr().out
    (folder / "r.csv").write_text("client,object,time\nx,unknown,4\n")
    assert plan("--requests", "r.csv", budget="1") == 2
    assert "r.csv: none of the objects was requested" in capsys.readouterr().err


def test_whole_numbers_are_visits_within_bounds(folder: Path, capsys: Capture) -> None:
    (folder / "o.csv").write_text("id,rate,min,max\na,1,0,1\nb,1,2,\nc,1,0,\nd,0,,\n")
    assert plan("--json", "--discrete", budget="6") == 0
    assert json.loads(capsys.readouterr().out)["visits"] == {"a": 1, "b": 3, "c": 2, "d": 0}


def test_the_boundary_says_how_copies_are_at_the_beginning(folder: Path, capsys: Capture) -> None:
    """Never visited, a copy that begins current is fresh for (1 - e^-1) / 1 of the period; else it is stale."""
    (folder / "o.csv").write_text("id,rate,max\na,1,0\nb,1,\n")
    found = []
    for boundary in ("interval", "periodic"):
        assert plan("--json", "--discrete", "--boundary", boundary, budget="1") == 0
        found.append(json.loads(capsys.readouterr().out)["objective"])
    once, twice = 1.0 - np.exp(-1.0), 2.0 * (1.0 - np.exp(-0.5))
    assert found == [pytest.approx((once + twice) / 2), pytest.approx(once / 2)]


def test_the_period_is_the_unit_of_rates_and_budget(capsys: Capture) -> None:
    assert plan("--period", "1h", "--out", "p.csv") == 0
    assert "5 objects with 15 updates per hour; 5 contacts per hour" in capsys.readouterr().out
    row = next(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert float(row["interval_s"]) == pytest.approx(3600 / float(row["frequency"]))


def test_the_plan_and_a_drawing_are_written(capsys: Capture) -> None:
    assert plan("--out", "p.csv", "--json") == 0
    out, err = capsys.readouterr()
    assert err == "bestbefore plan: written: p.csv, p.svg\n"
    rows = {row["id"]: float(row["frequency"]) for row in csv.DictReader(Path("p.csv").read_text().splitlines())}
    assert rows == json.loads(out)["rates"]
    assert Path("p.svg").read_text().startswith("<svg xmlns=")
    assert Path("p.csv").stat().st_mode & 0o444


def test_json_is_written_as_it_is_printed(capsys: Capture) -> None:
    assert plan("--out", "p.json", "--json") == 0
    assert Path("p.json").read_text() == capsys.readouterr().out


def test_each_contact_has_a_slot(capsys: Capture) -> None:
    assert plan("--discrete", "--crawlers", "2", "--slots", "3", "--out", "p.csv", budget="6") == 0
    slots = list(csv.DictReader(Path("p.slots.csv").read_text().splitlines()))
    assert sorted((row["crawler"], row["slot"]) for row in slots) == [(c, s) for c in "01" for s in "012"]
    visits = {row["id"]: row for row in csv.DictReader(Path("p.csv").read_text().splitlines())}
    for name, row in visits.items():
        starts = sorted(float(slot["start_s"]) for slot in slots if slot["id"] == name)
        assert len(starts) == int(row["visits"])
        assert not starts or float(row["first_s"]) == starts[0]
    assert "6 contacts in 2 x 3 slots of 8h" in capsys.readouterr().out


def test_crawlers_differ_and_slots_are_closed(folder: Path, capsys: Capture) -> None:
    """Slots of 8 h and of 12 h; the first is closed for all, the others of crawler 0 for e1."""
    (folder / "c.csv").write_text("id,crawler,start_s,end_s\n,,0,1\ne1,0,0,86400\n")
    slots = ("--discrete", "--crawlers", "2", "--slots", "3,2", "--closed", "c.csv", "--out", "p.csv")
    assert plan(*slots, budget="3") == 0
    assert "3 contacts in 3 + 2 slots of 8h and 12h" in capsys.readouterr().out
    rows = list(csv.DictReader(Path("p.slots.csv").read_text().splitlines()))
    assert sorted((row["crawler"], row["slot"]) for row in rows) == [("0", "1"), ("0", "2"), ("1", "1")]
    assert [row["crawler"] for row in rows if row["id"] == "e1"] == ["1"]


def test_a_longest_delay_is_kept(capsys: Capture) -> None:
    """Without it e5 is not contacted."""
    assert plan("--discrete", "--json", "--longest-delay", "1d", budget="10") == 0
    assert json.loads(capsys.readouterr().out)["visits"]["e5"] >= 1
    assert plan("--discrete", "--longest-delay", "8h", budget="10") == 2
    assert "the budget is 10 visits, but the least numbers of visits add up to 15" in capsys.readouterr().err


def test_a_plan_is_continued_after_the_contacts_made(folder: Path, capsys: Capture) -> None:
    """Of 10 contacts 3 are made by 6 h: 7 are left for 18 h, the first at once with what waits longest."""
    (folder / "m.csv").write_text("id,start_s\ne1,0\ne2,3600\ne1,21600\ne4,-9\n")
    assert plan("--discrete", "--made", "m.csv", "--out", "p.csv", budget="10") == 0
    assert "7 contacts per 18h; planned for freshness in whole numbers, after the contacts made" in (
        capsys.readouterr().out
    )
    rows = {row["id"]: row for row in csv.DictReader(Path("p.csv").read_text().splitlines())}
    assert sum(int(row["visits"]) for row in rows.values()) == 7
    assert float(rows["e3"]["first_s"]) == 21600.0
    assert float(rows["e2"]["first_s"]) > 21600.0


def test_what_is_left_of_a_plan_is_made_in_the_slots_that_are_left(folder: Path, capsys: Capture) -> None:
    """Four slots of 6 h, of which one is over and one is closed; what they take continues the plan again."""
    (folder / "m.csv").write_text("id,start_s\ne1,0\n")
    (folder / "c.csv").write_text("start_s,end_s\n43200,64800\n")
    slots = ("--discrete", "--crawlers", "1", "--slots", "4", "--closed", "c.csv", "--made", "m.csv", "--now", "6h")
    assert plan(*slots, "--out", "p.csv", budget="3") == 0
    rows = list(csv.DictReader(Path("p.slots.csv").read_text().splitlines()))
    assert [(row["slot"], row["start_s"]) for row in rows] == [("1", "21600.0"), ("3", "64800.0")]
    assert "in 1 x 4 slots of 6h" in capsys.readouterr().out
    assert plan(*slots, budget="4") == 2
    assert "3 contacts in a period for 1 x 4 slots, of which 2 are closed or over" in capsys.readouterr().err


def test_hours_are_learnt_by_clusters(capsys: Capture) -> None:
    days = ("--discrete", "--out", "p.csv")
    trace = {"source": "--updates=u.csv", "objective": "delay", "budget": "100"}
    assert plan(*days, **trace) == 0
    common = Path("p.csv").read_text()
    assert plan(*days, "--clusters", "3", **trace) == 0
    assert Path("p.csv").read_text() != common
    assert capsys.readouterr().out.count("If updates keep to their hours of the day") == 2


def test_slots_that_json_leaves_out_are_reported(capsys: Capture) -> None:
    slots = ("--discrete", "--crawlers", "2", "--slots", "3", "--json")
    assert plan(*slots, budget="6") == 0
    assert "JSON has no slots: --out writes" in capsys.readouterr().err
    assert plan(*slots, "--out", "p.csv", budget="6") == 0
    assert "JSON has no slots" not in capsys.readouterr().err


def test_rates_and_span_are_taken_from_a_trace(capsys: Capture) -> None:
    assert plan("--json", source="--updates=u.csv", objective="delay", budget="100") == 0
    out, err = capsys.readouterr()
    assert err.startswith("bestbefore plan: u.csv: ")
    assert " from 2024-0" in err
    assert sum(json.loads(out)["rates"].values()) == pytest.approx(100.0)


def test_laws_and_hours_are_taken_from_a_trace(capsys: Capture) -> None:
    assert plan("--discrete", "--out", "p.csv", source="--updates=u.csv", budget="100") == 0
    out = capsys.readouterr().out
    assert "laws of updates: " in out
    assert "If updates keep to their hours of the day" in out
    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert {"misfit", "model", "shape"} <= set(rows[0])
    assert sum(int(row["visits"]) for row in rows) == 100


@pytest.mark.parametrize(("text", "wrong"), [
    ("", "o.csv: line 1: no header"),
    ("id,rate\na,1\nb,-2\n", "o.csv: line 3: rate '-2': expected"),
    ("id,rate,weight\na,1,nan\n", "o.csv: line 2: weight 'nan': expected"),
    ("id,rate\na,1\na,2\n", "o.csv: line 3: id 'a': expected each id once"),
    ("id,rate,min,max\na,1,2,1\n", "o.csv: line 2: min 2 above max 1: expected"),
    ("id,rate,min\na,1,3\nb,1,4\n", "o.csv: the budget is 5, but the minimums add up to 7"),
    ("id,rate,weight\na,1,0\n", "o.csv: no object has a weight above 0"),
    ("id,rate,model,shape\na,1,,\nb,1,weibull,2\n", "o.csv: line 3: a model other than poisson needs --discrete"),
])
def test_bad_input_is_one_line_and_writes_nothing(folder: Path, text: str, wrong: str, capsys: Capture) -> None:
    (folder / "o.csv").write_text(text)
    before = sorted(folder.iterdir())
    assert plan("--out", "p.csv", "--json") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"bestbefore: {wrong}")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("options", "wrong"), [
    (["--budget", "0"], "--budget 0: expected a number of contacts per period of more than 0"),
    (["--budget", "-1"], "--budget -1: expected"),
    (["--budget", "nan"], "--budget nan: expected"),
    (["--budget", "inf"], "--budget inf: expected"),
    (["--budget", "5/day"], "--budget 5/day: expected"),
    (["--budget", "2.5", "--discrete"], "o.csv: the budget is 2.5, expected a whole number"),
    (["--period", "0"], "--period 0: expected a duration of more than 0"),
    (["--period", "inf"], "--period inf: expected"),
    (["--boundary", "interval"], "--boundary needs --discrete"),
    (["--crawlers", "2", "--discrete"], "--crawlers and --slots need each other"),
    (["--crawlers", "2", "--slots", "5"], "--crawlers and --slots need --discrete"),
    (["--crawlers", "2", "--slots", "2", "--discrete"], "o.csv: 5 contacts in a period for 2 x 2 slots"),
    (["--crawlers", "2", "--slots", "2,3,4", "--discrete"], "--slots 2,3,4: expected one number, or 2"),
    (["--crawlers", "2", "--slots", "0", "--discrete"], "--slots 0: expected a whole number from 1"),
    (["--closed", "c.csv"], "--closed needs --crawlers and --slots"),
    (["--now", "1h"], "--now needs --made"),
    (["--made", "m.csv"], "--made needs --discrete"),
    (["--clusters", "3", "--discrete"], "--clusters needs --updates and --discrete"),
    (["--longest-delay", "0"], "--longest-delay 0: expected a duration of more than 0"),
    (["--out", "p.txt"], "--out p.txt: expected a name that ends in .csv or .json"),
    (["--updates", "u.csv"], "expected either --objects FILE or --updates FILE"),
    (["--objects", "no.csv"], "--objects no.csv: given twice, expected one file (first o.csv)"),
])
def test_a_bad_option_is_one_line(options: list[str], wrong: str, capsys: Capture) -> None:
    assert plan(*options) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"bestbefore: {wrong}")


def test_a_source_that_is_not_there_is_named(capsys: Capture) -> None:
    assert plan(source="--objects=no.csv") == 2
    assert capsys.readouterr().err == "bestbefore: no.csv: No such file or directory\n"


def test_one_of_the_two_sources_is_needed(capsys: Capture) -> None:
    assert run(["plan", "--budget", "5", "--objective", "age"]) == 2
    assert "expected either --objects FILE or --updates FILE" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "wrong"), [
    ("object,time\n", "t.csv: no update, expected some that show how often objects change"),
    ("object,time\na,1\nb,2\n", "t.csv: no object has two updates"),
    ("object,time\na,x\n", "t.csv: line 2: time 'x'"),
])
def test_a_trace_without_information_is_refused(folder: Path, text: str, wrong: str, capsys: Capture) -> None:
    (folder / "t.csv").write_text(text)
    assert plan("--json", source="--updates=t.csv") == 2
    assert capsys.readouterr().err.startswith(f"bestbefore: {wrong}")


def test_a_folder_that_is_not_there_is_no_fault_of_the_input(capsys: Capture) -> None:
    assert plan("--out", "nowhere/p.csv") == 1
    assert capsys.readouterr().err == "bestbefore: nowhere/p.csv: No such file or directory\n"


def opened_with(process: subprocess.Popen[bytes], pipe: Path) -> TextIO:
    """A named pipe for writing, once the process has opened it for reading."""
    while True:
        try:
            return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
        except OSError:  # it is not read
            assert process.poll() is None
        time.sleep(0.005)


def test_an_interrupted_plan_leaves_nothing(
    folder: Path, start_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """It waits for its objects in a pipe that stays empty."""
    os.mkfifo(folder / "pipe.csv")
    command = [Path(sys.executable).parent / "bestbefore", "plan", "--objects", "pipe.csv", "--budget", "5",
               "--objective", "age", "--out", "p.csv"]
    process = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with opened_with(process, folder / "pipe.csv") as pipe:
        pipe.write("id,rate\n")
        pipe.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert not list(folder.glob("p.*"))
