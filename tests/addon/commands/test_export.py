"""`bestbefore export` on a real embedded store, and what is read of its files."""

import asyncio
import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles

pytestmark = pytest.mark.live

Run = Callable[..., tuple[int, str, str]]
A, B = "http://www.example.org/a", "http://www.example.org/b?page=2"
START_S = float(int(RealClock().now())) - 1000.0


async def _fill(where: str, state: Path | None) -> None:
    """A, whose Last-Modified tells the times of its updates, and B, of which only an interval is known."""
    store = await open_store(where, clock=RealClock(), state=state)
    for after_s, modified_s in ((0.0, -500.0), (10.0, -500.0), (40.0, 35.0)):
        seen = Fingerprint(body=str(modified_s), last_modified_s=START_S + modified_s)
        await store.learn(Observation(A, START_S + after_s, "", seen))
    for after_s in (20.0, 30.0):
        await store.learn(Observation(B, START_S + after_s, "", Fingerprint(body=str(after_s))))
    assert await store.flush()
    await store.close()


def log_requests(state: Path) -> None:
    TrafficFiles(state).append(
        LoggedRequest(START_S + after_s, client, url, 7, 200, Outcome.HIT, "indttl")
        for after_s, client, url in ((0.5, "c1", A), (41.0, "c2", A), (31.0, "c1", B))
    )


@pytest.fixture
def learnt(tmp_path: Path) -> Path:
    """A state folder with histories; nothing is logged."""
    state = tmp_path / "state"
    asyncio.run(_fill("embedded", state))
    return state


def test_updates_and_requests_are_written_and_the_command_that_is_shown_replays_them(
    bestbefore: Run, learnt: Path, tmp_path: Path
) -> None:
    log_requests(learnt)
    out = tmp_path / "deep" / "out"
    status, shown, err = bestbefore("export", "--out", out, "--state", learnt)
    assert (status, err) == (0, "")
    assert f"{out}/updates.csv: 3 updates of 2 objects, of 2 known, from " in shown
    assert "; 1 in the middle between two contacts, since their times are not known\n" in shown
    assert f"{out}/requests.csv: 3 requests for 2 objects by 2 clients, from " in shown
    start = int(START_S)
    assert (out / "updates.csv").read_text() == (
        f"object,time\n{A},{start - 500}\n{B},{start + 25}\n{A},{start + 35}\n"
    )
    assert (out / "requests.csv").read_text() == (
        f"time,client,object,size,status,verdict,reason\n{start}.5,c1,{A},7,200,hit,indttl\n"
        f"{start + 31},c1,{B},7,200,hit,indttl\n{start + 41},c2,{A},7,200,hit,indttl\n"
    )
    assert [path.name for path in sorted(out.iterdir())] == ["requests.csv", "updates.csv"]
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}
    assert out.stat().st_mode & 0o777 == 0o700

    written = json.loads(bestbefore("export", "--force", "--json", "--out", out, "--state", learnt)[1])
    assert {key: written[key] for key in ("objects", "updates", "requests", "clients")} == {
        "objects": 2, "updates": 3, "requests": 3, "clients": 2,
    }  # fmt: skip
    assert shlex.split(written["replay"]) == shlex.split(shown[shown.index("bestbefore replay") :].replace("\\\n", " "))

    program, *command = shlex.split(shown[shown.index("bestbefore replay") :].replace("\\\n", " "))
    status, replayed, err = bestbefore(*command, "--json")
    assert (program, status, err) == ("bestbefore", 0, "")
    counts = [json.loads(line) for line in replayed.splitlines()]
    assert [(row["policy"], row["requests"], row["misses"]) for row in counts] == [("ttl", 3, 2), ("indttl", 3, 2)]


def test_the_command_that_is_shown_replays_requests_that_came_before_all_updates(
    bestbefore: Run, learnt: Path, tmp_path: Path
) -> None:
    TrafficFiles(learnt).append([LoggedRequest(START_S - 900.5712, "c1", A, 7, 200, Outcome.MISS, "uri-miss")])
    _, shown, _ = bestbefore("export", "--out", tmp_path / "out", "--state", learnt)
    _, *command = shlex.split(shown[shown.index("bestbefore replay") :].replace("\\\n", " "))
    status, replayed, err = bestbefore(*command, "--json")
    assert (status, err) == (0, "")
    assert [json.loads(line)["requests"] for line in replayed.splitlines()] == [1, 1]


def test_without_a_log_the_updates_are_written_and_what_to_do_is_said(
    bestbefore: Run, learnt: Path, tmp_path: Path
) -> None:
    status, shown, _ = bestbefore("export", "--out", tmp_path / "out", "--state", learnt)
    assert status == 0
    assert "no requests are logged: for that, set traffic_log = true in [proxy]" in shown
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["updates.csv"]
    _, *command = shlex.split(shown[shown.index("bestbefore replay") :].replace("\\\n", " "))
    status, table, _ = bestbefore(*command)
    assert status == 0
    assert "refreshes" in table


def test_what_is_there_is_replaced_only_if_that_is_asked_for(bestbefore: Run, learnt: Path, tmp_path: Path) -> None:
    log_requests(learnt)
    out = tmp_path / "out"
    args = ("export", "--out", out, "--state", learnt)
    assert bestbefore(*args)[0] == 0
    (out / "notes.txt").touch()
    before = (out / "updates.csv").stat().st_ino
    status, shown, err = bestbefore(*args)
    assert (status, shown) == (2, "")
    where = f"bestbefore: {out}/updates.csv"
    assert err == f"{where}: exists already: give another folder, or --force to overwrite it\n"
    assert (out / "updates.csv").stat().st_ino == before
    assert bestbefore(*args, "--format", "csv.gz")[0] == 2
    assert bestbefore(*args, "--format", "csv.gz", "--force")[0] == 0
    assert sorted(path.name for path in out.iterdir()) == ["notes.txt", "requests.csv.gz", "updates.csv.gz"]
    assert gzip.decompress((out / "updates.csv.gz").read_bytes()).startswith(b"object,time\n")

    for path in TrafficFiles(learnt).days():
        path.unlink()
    assert bestbefore(*args, "--force")[0] == 0
    assert sorted(path.name for path in out.iterdir()) == ["notes.txt", "updates.csv"], "no requests of another time"


def test_what_is_wrong_is_said_in_one_line(bestbefore: Run, learnt: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for status, args, message in (
        (2, ("--out", file, "--state", learnt), f"{file}: is not a folder"),
        (1, ("--out", file / "out", "--state", learnt), f"{file}/out: Not a directory"),
        (2, ("--out", tmp_path / "out", "--state", tmp_path / "none"), f"{tmp_path}/none: there is no store"),
        (2, ("--out", tmp_path / "out", "--state", file), f"{file}: there is no store"),
        (2, ("--out", tmp_path / "out", "--store", "redis:/x"), 'option store = "redis:/x": expected'),
        (2, ("--out", tmp_path / "out", "--state", learnt, "--format", "xls"), "'xls' is not one of 'csv', 'csv.gz'"),
        (2, ("--state", learnt), "Missing option '--out'"),
    ):
        given, shown, err = bestbefore("export", *args)
        assert (given, shown, err.count("\n")) == (status, "", 1), err
        assert message in err
    assert not (tmp_path / "out").exists()


def test_a_log_that_cannot_be_read_is_named(bestbefore: Run, learnt: Path, tmp_path: Path) -> None:
    no_file = learnt / "traffic" / "2024-01-26.jsonl"
    no_file.mkdir(parents=True)
    status, shown, err = bestbefore("export", "--out", tmp_path / "out", "--state", learnt)
    assert (status, shown, err) == (1, "", f"bestbefore: {no_file}: Is a directory\n")
    assert list((tmp_path / "out").iterdir()) == []


def test_nothing_to_export_is_said(bestbefore: Run, tmp_path: Path) -> None:
    async def make_empty() -> None:
        await (await open_store("embedded", clock=RealClock(), state=tmp_path)).close()

    asyncio.run(make_empty())
    config = tmp_path / "proxy.toml"
    config.write_text("[proxy]\ntraffic_log = true\n")
    for options, why in (((), "no requests are logged"), (("--config", config), "no request was logged yet")):
        status, shown, err = bestbefore("export", "--out", tmp_path / "out", "--state", tmp_path, *options)
        assert (status, shown) == (1, "")
        assert f"there is nothing to export: no update was learnt yet, and {why}" in err
    assert not (tmp_path / "out").exists()


def test_the_histories_of_a_redis_are_exported(bestbefore: Run, valkey, tmp_path: Path) -> None:
    asyncio.run(_fill(valkey.url, None))
    out, state = tmp_path / "out", tmp_path / "state"
    state.mkdir()
    log_requests(state)
    status, shown, _ = bestbefore("export", "--out", out, "--store", valkey.url, "--state", state)
    assert status == 0
    assert "3 updates of 2 objects" in shown
    assert "3 requests for 2 objects" in shown


def test_what_is_forgotten_is_exported_no_more(bestbefore: Run, learnt: Path, tmp_path: Path) -> None:
    log_requests(learnt)
    status, shown, _ = bestbefore("forget", A, "--state", learnt)
    assert (status, shown) == (0, "forgot 1 object and 2 logged requests\n")
    assert bestbefore("forget", "example.com", "--state", learnt)[1] == "forgot 0 objects\n"
    assert bestbefore("export", "--out", tmp_path / "out", "--state", learnt)[0] == 0
    for name in ("updates.csv", "requests.csv"):
        assert A not in (tmp_path / "out" / name).read_text()
        assert B in (tmp_path / "out" / name).read_text()
