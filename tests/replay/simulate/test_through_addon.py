"""Requests through the live addon: what is counted, what is refused, and how such a replay ends."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.played.errors import PlayError
from bestbefore.replay.simulate import plain_engine, through_addon
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.progress import Watch
from bestbefore.replay.traces.columns.columns import Requests, Updates

COMMAND = Path(sys.executable).parent / "bestbefore"
HOUR_S = 3600.0


def scenario(
    updates_s: list[float], requests_s: list[float], warm: Warm | None = None, test_start_s: float | None = None,
    origin_s: float = 0.0,
) -> Scenario:
    """One object, one client."""
    ids = np.zeros(len(requests_s), dtype=np.int32)
    return Scenario.of(
        Updates.of(np.array(updates_s), np.zeros(len(updates_s), dtype=np.int32), ("a",)),
        Requests.of(np.array(requests_s), ids, ids, ("x",), ("a",)),
        origin_s=origin_s, test_start_s=test_start_s, cache=Cache.SHARED, warm=warm, warn=lambda _: None,
    )


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    return Counts.total(through_addon.replay_objects(scenario, policy, watch).values())


# What is counted


def test_the_proxy_knows_of_observed_histories_what_its_contacts_have_shown() -> None:
    # Changes at 1000, 3000 and 3400. A miss at 2000 with Last-Modified 1000: fresh until 2000 + 0.5 * 1000.
    # 2499: hit. 2500: 304, fresh until 3250. 3200: stale hit. 3600: 200 of 3400, fresh until 3700. 3650: hit.
    updates_s, requests_s = [1000.0, 3000.0, 3400.0], [2000.0, 2499.0, 2500.0, 3200.0, 3600.0, 3650.0]
    told = replay(scenario(updates_s, requests_s, Warm.NONE), parse_spec("ttl:alpha=0.5"))
    assert told == Counts(misses=1, hits=3, stale_hits=1, validations=2, unnecessary=1)


def test_what_happened_between_two_contacts_is_lost_unless_histories_are_complete() -> None:
    # Of the eight changes between 1:00 and 2:00 the contact a day later shows the last one alone. From it the next is
    # due at one an hour from 1:00 on: 0.4 of it by 1:24. From all eight 0.4 are due by 1:03, and from 1:12 on,
    # now with 1.2 hours observed, 0.4 / (8 / 1.2) h = 3.6 min later.
    updates_s = [HOUR_S + 100.0 * n for n in range(8)]
    requests_s = [0.0, 24.5 * HOUR_S, 25.2 * HOUR_S, 25.5 * HOUR_S]
    policy = parse_spec("indhist:theta=0.4,max_ttl=1d")
    observed = replay(scenario(updates_s, requests_s, Warm.NONE), policy)
    assert observed == Counts(misses=1, hits=1, stale_hits=0, validations=2, unnecessary=1)
    complete = replay(scenario(updates_s, requests_s, origin_s=0.0), policy)
    assert complete == Counts(misses=1, hits=0, stale_hits=0, validations=3, unnecessary=2)


def test_observers_see_the_contacts_before_the_test_start_too() -> None:
    replayed = scenario([1000.0], [1500.0, 2000.0, 2500.0], Warm.CONTACTS, test_start_s=2000.0)
    seen = []

    def watch(rows: Iterator[Any]) -> Iterable[Any]:
        for row in rows:
            seen.append(row[0])
            yield row

    assert replay(replayed, parse_spec("ttl"), watch).requests == 2
    assert seen == [1500.0, 2000.0, 2500.0]
    assert through_addon.items(replayed) == 3


# What is refused


@pytest.mark.parametrize(
    ("spec", "replayed", "why"),
    [
        ("oracle", scenario([1.0], [2.0]), "it needs the updates to come"),
        ("nutch", scenario([1.0], [2.0]), "it needs the updates so far, and what became of its last verdict"),
        ("aimd", scenario([1.0], [2.0], Warm.NONE), "what became of its last verdict"),
        ("ttl", scenario([1.0], [2e12]), "beyond the year 9999, where the dates of HTTP end"),
        ("ttl", scenario([1.0, 1.5], [2.0], Warm.NONE), "updates lie between whole seconds"),
        ("agghist", scenario([1.0], [2.0], origin_s=1.0), "expected an origin at a full one instead of 1"),
        ("agghist:history_window=1h", scenario([1.0], [3602.0]), "history_window must reach back to the origin"),
        ("indhist:fallback=ttl+group", scenario([1.0], [2.0], origin_s=1.0), "counts groups by the hour"),
    ],
)
def test_what_the_proxy_does_not_know_as_the_replay_does_is_refused(spec: str, replayed: Scenario, why: str) -> None:
    policy = parse_spec(spec)
    assert why in (through_addon.obstacle(replayed, policy) or "")
    with pytest.raises(ValueError, match=why):
        replay(replayed, policy)


@pytest.mark.parametrize(
    ("spec", "replayed"),
    [
        ("ttl", scenario([1.0, 1.5], [2.25])),
        ("ttl", scenario([1.0], [2.25, 2.75], Warm.NONE)),
        ("indhist", scenario([1.0], [2.0], origin_s=1.0)),
        ("agghist:history_window=1h", scenario([1.0], [7200.0], Warm.NONE, origin_s=1.0)),
        ("agghist:history_window=1h", scenario([1.0], [3600.0])),
        ("ttl", scenario([1.0], [])),
    ],
)
def test_what_it_knows_alike_is_not(spec: str, replayed: Scenario) -> None:
    assert replay(replayed, parse_spec(spec)) == plain_engine.replay(replayed, parse_spec(spec))


# How it ends


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go, by a path that is short enough for a socket; nothing is left there."""
    with tempfile.TemporaryDirectory(prefix="bb-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


def server_in(folder: Path, least_keys: int = 0) -> int | None:
    """The process id of the one store in this folder, as soon as so much has been written to it; None before."""
    for socket in folder.glob("bestbefore-*/valkey/valkey.sock"):
        with suppress(redis.RedisError), redis.Redis(unix_socket_path=str(socket)) as client:
            if client.dbsize() >= least_keys:
                return int(client.info("server")["process_id"])
    return None


def long_trace() -> Scenario:
    """Many requests, nearly each of them a contact."""
    return scenario([600.0 * n for n in range(150)], [600.0 * n + 30.0 for n in range(150)], Warm.NONE)


def at_request(n: int, act: Callable[[], None]) -> Callable[[Iterator[Any]], Iterable[Any]]:
    """Acts before the request with this number."""

    def watch(rows: Iterator[Any]) -> Iterable[Any]:
        for number, row in enumerate(rows):
            if number == n:
                act()
            yield row

    return watch


@pytest.mark.live
@pytest.mark.parametrize("n", [0, 75, 149])
def test_without_its_store_nothing_is_counted(temporary: Path, n: int) -> None:
    def kill() -> None:
        server = server_in(temporary)
        assert server is not None
        os.kill(server, signal.SIGKILL)

    with pytest.raises(PlayError) as raised:
        replay(long_trace(), parse_spec("ttl"), at_request(n, kill))
    message = raised.value.format_message()
    assert message.startswith("--through addon: the store did not answer (")
    assert message.endswith("): the replay is stopped")
    assert "\n" not in message


@pytest.mark.live
def test_a_store_that_is_slow_is_waited_for(temporary: Path) -> None:
    resuming: list[threading.Timer] = []

    def stop() -> None:
        server = server_in(temporary)
        assert server is not None
        os.kill(server, signal.SIGSTOP)
        resuming.append(threading.Timer(3.0, os.kill, (server, signal.SIGCONT)))  # live, 2 s are too long
        resuming[0].start()

    replayed = long_trace()
    started_s = time.perf_counter()
    assert replay(replayed, parse_spec("ttl"), at_request(75, stop)) == plain_engine.replay(
        replayed, parse_spec("ttl")
    )
    assert time.perf_counter() - started_s > 3.0
    resuming[0].join()


@pytest.mark.live
@pytest.mark.parametrize(
    ("number", "policies", "status", "said"),
    [
        pytest.param(signal.SIGINT, 1, 130, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 2, 130, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 1, -signal.SIGTERM, "", marks=pytest.mark.slow),
        pytest.param(None, 1, 1, "bestbefore: --through addon: the store did not answer (", marks=pytest.mark.slow),
        (None, 2, 1, "bestbefore: --through addon: the store did not answer ("),
    ],
)
def test_a_replay_that_is_ended_leaves_nothing(
    temporary: Path, data: Path, number: int | None, policies: int, status: int, said: str,
    start_process: Callable[..., subprocess.Popen[str]],
) -> None:
    trace = ["--updates", data / "excerpt.updates.csv", "--requests", data / "excerpt.requests.csv.gz"]
    several = ["--policy", "ttl", "--policy", "indhist", "--jobs", "2"][: 2 if policies == 1 else None]
    process = start_process(
        [COMMAND, "replay", *trace, "--through", "addon", *several],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,  # as a terminal does, Ctrl-C tells all processes of the command
    )
    while (server := server_in(temporary, least_keys=10)) is None:
        assert process.poll() is None
        time.sleep(0.01)
    if number is None:
        os.kill(server, signal.SIGKILL)
    else:
        os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60.0)
    assert (process.returncode, out) == (status, "")
    assert err.startswith(said)
    assert len(err.strip().splitlines()) == bool(said)
