"""`plan --objects FOLDER` beside `plan --objects FILE` for the same objects."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bestbefore.addon.cli import run

Capture = pytest.CaptureFixture[str]
N = 500
SLOTS = ["--crawlers", "2", "--slots", "9"]


@pytest.fixture(autouse=True)
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """500 objects as o.csv and as the parts of the folder parts, one of them empty and one of one object."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({
        "id": [f"https://{i % 40}.example/{i}" for i in range(N)],
        "rate": np.exp(rng.normal(0, 2, N)), "weight": rng.pareto(1.2, N),
        "min": rng.uniform(0, 0.01, N), "max": rng.uniform(0.5, 4, N),
    })
    (tmp_path / "parts").mkdir()
    frame.write_csv("o.csv")
    for number, (start, end) in enumerate([(0, 200), (200, 200), (200, 201), (201, N)]):
        frame[start:end].write_parquet(f"parts/{number}.parquet")
    return frame


def drop_bounds(objects: pl.DataFrame) -> None:
    objects.drop("min", "max").write_csv("o.csv")
    for path in Path("parts").iterdir():
        pl.read_parquet(path).drop("min", "max").write_parquet(path)


def written(folder: str) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(Path(folder).glob("*.parquet"))])


def as_json(capture: Capture) -> dict[str, float]:
    found: dict[str, float] = json.loads(capture.readouterr().out)
    return found


@pytest.mark.parametrize("objective", ["freshness", "age", "delay"])
@pytest.mark.parametrize("bounded", [True, False])
def test_parts_are_planned_as_one_file(objective: str, bounded: bool, objects: pl.DataFrame, capsys: Capture) -> None:
    if not bounded:
        drop_bounds(objects)
    budget = ["--budget", "100", "--objective", objective, "--json"]
    assert run(["plan", "--objects", "o.csv", *budget]) == 0
    whole = as_json(capsys)
    assert run(["plan", "--objects", "parts", *budget, "--out", "plan"]) == 0
    found = as_json(capsys)
    if objective == "delay":  # of an update, in place of the sum over the objects
        changing = float((objects["rate"] * objects["weight"]).sum() / objects["weight"].sum())
        whole["objective"] /= changing
    assert found[objective] == pytest.approx(whole["objective"], rel=1e-9)
    assert found["contacts"] == pytest.approx(100.0, rel=1e-9)
    assert (found["objects"], found["parts"]) == (N, 4)
    assert dict(written("plan").select("id", "frequency").rows()) == pytest.approx(whole["rates"], rel=1e-6, abs=1e-9)
    assert json.loads(Path("plan/plan.json").read_text())["budget"] == 100.0


@pytest.mark.parametrize(("objective", "boundary", "slots"), [
    ("freshness", "periodic", ["--crawlers", "2", "--slots", "600,480", "--closed", "closed.csv"]),
    ("age", "interval", ["--crawlers", "3", "--slots", "300"]),
    ("delay", "periodic", []),
])
def test_whole_numbers_and_slots_are_those_of_one_file(
    objective: str, boundary: str, slots: list[str], objects: pl.DataFrame, capsys: Capture
) -> None:
    whole_bounds(objects)
    Path("closed.csv").write_text("start_s,end_s,crawler\n0,7200,\n30000,36000,1\n")
    asked = ["--budget", "900", "--objective", objective, "--discrete", "--boundary", boundary, *slots]
    assert run(["plan", "--objects", "o.csv", *asked, "--out", "one.csv"]) == 0
    on_one = capsys.readouterr().out.split("\n\n")
    assert run(["plan", "--objects", "parts", *asked, "--out", "plan"]) == 0
    in_parts = capsys.readouterr().out.split("\n\n")
    assert f"in whole numbers, boundary {boundary}" in in_parts[0]
    if slots:
        assert in_parts[-1] == on_one[-1]
        assert in_parts[-1].startswith("900 contacts in ")
        of_parts = written("plan/slots").sort("start_s", "crawler", maintain_order=True)
        assert of_parts.equals(pl.read_csv("one.slots.csv", schema=of_parts.schema))
    one = pl.read_csv("one.csv", infer_schema_length=None)
    parts = written("plan")
    assert parts["visits"].to_list() == one["visits"].to_list()
    assert parts.columns == [column for column in one.columns if column in parts.columns]
    for column in parts.columns[1:]:
        np.testing.assert_allclose(parts[column].to_numpy(), one[column].cast(pl.Float64).to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("objective", ["freshness", "delay"])
def test_hosts_are_limited_in_parts_as_in_one_file(objective: str, objects: pl.DataFrame, capsys: Capture) -> None:
    domain = objects["id"].str.extract(r"//(\d+)\.").cast(pl.Int64)
    for number in range(4):
        objects.filter(domain % 4 == number).write_parquet(f"parts/{number}.parquet")
    asked = ["--budget", "100", "--objective", objective, "--json", "--per-host-interval", "8h"]
    assert run(["plan", "--objects", "o.csv", *asked]) == 0
    whole = as_json(capsys)
    assert run(["plan", "--objects", "parts", *asked, "--out", "plan"]) == 0
    assert as_json(capsys)["contacts"] == pytest.approx(sum(whole["rates"].values()), rel=1e-9)
    plan = written("plan")
    assert dict(plan.select("id", "frequency").rows()) == pytest.approx(whole["rates"], rel=1e-6, abs=1e-9)
    of_hosts = plan.group_by(pl.col("id").str.extract(r"//(\d+)\.")).agg(pl.col("frequency").sum())["frequency"]
    assert of_hosts.max() == pytest.approx(3.0, rel=1e-9)
    for source in ("o.csv", "parts"):
        assert run(["plan", "--objects", source, "--budget", "1e4", "--objective", objective, *asked[-2:]]) == 0
        assert f", of which {1e4 - 3 * of_hosts.len():,.6g} are above what the domains may" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("objective", "slots"), [("freshness", ["--crawlers", "2", "--slots", "600,480"]), ("age", [])]
)
def test_hosts_are_limited_in_whole_numbers_too(
    objective: str, slots: list[str], objects: pl.DataFrame, capsys: Capture
) -> None:
    domain = objects["id"].str.extract(r"//(\d+)\.").cast(pl.Int64)
    ordered = objects.drop("min", "max").with_columns(part=domain % 4).sort("part", maintain_order=True)
    ordered.drop("part").write_csv("o.csv")
    for number in range(4):
        ordered.filter(part=number).drop("part").write_parquet(f"parts/{number}.parquet")
    asked = ["--budget", "600", "--objective", objective, "--discrete", "--per-host-interval", "80m", *slots]
    assert run(["plan", "--objects", "o.csv", *asked, "--out", "one.csv"]) == 0
    assert run(["plan", "--objects", "parts", *asked, "--out", "plan"]) == 0
    one, parts = pl.read_csv("one.csv", infer_schema_length=None), written("plan")
    assert parts["visits"].to_list() == one["visits"].to_list()
    of_hosts = one.group_by(pl.col("id").str.extract(r"//(\d+)\.")).agg(pl.col("visits").sum())["visits"]
    assert (of_hosts.max(), of_hosts.sum()) == (18, 600)
    if slots:
        assert len(written("plan/slots")) == 600
    capsys.readouterr()
    needy = [*asked[:-len(slots) or None][:-1], "8h"]
    for source in ("o.csv", "parts"):
        assert run(["plan", "--objects", source, *needy]) == (2 if objective == "age" else 0)
        printed = capsys.readouterr()
        assert "of one domain add up to 13, but it may have 3 at most" in printed.err or "above what" in printed.out
        assert run(["plan", "--objects", source, *needy[:-1], "2d"]) == 2
        assert "a domain may have 0.5 contacts per period" in capsys.readouterr().err


def whole_bounds(objects: pl.DataFrame) -> None:
    """Make the bounds whole numbers: of each tenth object at least one contact, at most one to seven."""
    bounds = pl.DataFrame({"min": [float(i % 10 == 0) for i in range(N)], "max": [1.0 + i % 7 for i in range(N)]})
    objects = objects.with_columns(bounds)
    objects.write_csv("o.csv")
    start = 0
    for path in sorted(Path("parts").iterdir()):
        n = len(pl.read_parquet(path))
        objects[start:start + n].write_parquet(path)
        start += n


@pytest.mark.slow
def test_the_least_whole_budget_for_a_target_is_that_of_one_file(objects: pl.DataFrame, capsys: Capture) -> None:
    drop_bounds(objects)
    found = []
    for name in ("o.csv", "parts"):
        assert run(["plan", "--objects", name, "--target", "freshness=0.2", "--discrete", "--json"]) == 0
        found.append(capsys.readouterr().err.splitlines()[-1])
    assert found[0] == found[1]
    assert "freshness=0.2 needs" in found[0]


def test_the_columns_written_are_those_of_a_plan_of_one_file() -> None:
    budget = ["--budget", "100", "--objective", "age"]
    assert run(["plan", "--objects", "o.csv", *budget, "--out", "one.csv"]) == 0
    assert run(["plan", "--objects", "parts", *budget, "--out", "plan"]) == 0
    one = pl.read_csv("one.csv", infer_schema_length=None)
    parts = written("plan")
    for column in parts.columns[1:]:
        np.testing.assert_allclose(parts[column].to_numpy(), one[column].cast(pl.Float64).to_numpy(), rtol=1e-6)


def test_a_target_and_the_summary_are_those_of_one_file(objects: pl.DataFrame, capsys: Capture) -> None:
    drop_bounds(objects)
    assert run(["plan", "--objects", "o.csv", "--target", "freshness=0.4"]) == 0
    one = capsys.readouterr()
    assert run(["plan", "--objects", "parts", "--target", "freshness=0.4"]) == 0
    parts = capsys.readouterr()
    assert one.err.splitlines()[-1] == parts.err.splitlines()[-1]
    rows = {line.split()[0]: line.split() for line in one.out.splitlines() if line.startswith(("this", "unif", "prop"))}
    for line in parts.out.splitlines()[2:]:
        if line.split()[0] in rows:
            assert line.split() == rows[line.split()[0]]
    assert "500 objects in 4 parts" in parts.out


@pytest.mark.parametrize(("options", "expected"), [
    (["--objects", "parts", "--discrete", "--made", "o.csv"], "--made is not for --objects FOLDER"),
    (["--objects", "parts", "--crawlers", "2"], "--crawlers and --slots need each other"),
    (["--objects", "parts", "--crawlers", "2", "--slots", "9"], "--crawlers and --slots need --discrete"),
    (["--objects", "parts", "--discrete", *SLOTS, "--closed", "closed.csv"], "parts: slots are closed to 'a': closed"),
    (["--objects", "parts", "--boundary", "interval"], "--boundary needs --discrete"),
    (["--objects", "o.csv", "--discrete", "--per-host-interval", "2", "--made", "o.csv"], "interval is not for --made"),
    (["--objects", "parts", "--per-host-interval", "2"], "2.parquet: objects of '0.example', and others in 0.parquet"),
    (["--objects", "parts", "--discrete"], "parts/0.parquet: row 1: the least number of visits is"),
    (["--objects", "parts", "--out", "parts"], "--out parts: expected a new or empty folder"),
    (["--objects", "o.csv", "--jobs", "2"], "--jobs and --on need --objects FOLDER"),
    (["--objects", "empty"], "empty: no file *.parquet"),
    (["--objects", "parts", "--budget", "0.1"], "parts: the budget is 0.1, but the minimums add up to"),
])
def test_what_does_not_fit_is_refused(options: list[str], expected: str, capsys: Capture) -> None:
    Path("empty").mkdir()
    Path("closed.csv").write_text("id,start_s,end_s\na,0,7200\n")
    given = options if "--budget" in options else [*options, "--budget", "100"]
    assert run(["plan", *given, "--objective", "age"]) == 2
    assert expected in capsys.readouterr().err


def test_what_is_wrong_in_a_part_is_named(capsys: Capture) -> None:
    pl.read_parquet("parts/3.parquet").drop("rate").write_parquet("parts/3.parquet")
    assert run(["plan", "--objects", "parts", "--budget", "100", "--objective", "age"]) == 2
    assert "parts/3.parquet: no column 'rate'" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_make_the_same_plan(capsys: Capture) -> None:
    budget = ["--budget", "100", "--objective", "freshness", "--json"]
    assert run(["plan", "--objects", "parts", *budget]) == 0
    one = as_json(capsys)
    assert run(["plan", "--objects", "parts", *budget, "--jobs", "2"]) == 0
    assert as_json(capsys) == one
    pl.read_parquet("parts/3.parquet").drop("rate").write_parquet("parts/3.parquet")
    assert run(["plan", "--objects", "parts", *budget, "--jobs", "2"]) == 1
    assert "3.parquet: no column 'rate'" in capsys.readouterr().err
