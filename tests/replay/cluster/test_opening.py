"""Schedulers and workers are the processes that `dask` starts."""

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from bestbefore.replay.cluster.errors import ClusterError
from bestbefore.replay.cluster.opening import _check_versions, installed_distributed, join_cluster, start_cluster

OWN = {"dask": "1", "distributed": "1", "python": "3.13.1.final.0", "numpy": "2"}
CLIENT = {"packages": {**OWN, "bestbefore": version("bestbefore")}}


@pytest.mark.parametrize(
    ("package", "other", "said"),
    [
        ("bestbefore", "0.1.0", f"worker tcp://b:1 has bestbefore 0.1.0: expected {version('bestbefore')}, as here"),
        ("bestbefore", None, f"worker tcp://b:1 has bestbefore not at all: expected {version('bestbefore')}, as here"),
        ("distributed", "2", "worker tcp://b:1 has distributed 2: expected 1, as here"),
        ("python", "3.12.1.final.0", "worker tcp://b:1 has python 3.12: expected 3.13, as here"),
    ],
)
def test_a_worker_with_another_version_is_refused(package: str, other: str | None, said: str) -> None:
    workers = {"tcp://a:1": CLIENT, "tcp://b:1": {"packages": {**CLIENT["packages"], package: other}}}
    with pytest.raises(ClusterError) as refused:
        _check_versions({"client": CLIENT, "scheduler": {"packages": OWN}, "workers": workers})
    assert str(refused.value) == said


def test_the_same_versions_are_accepted_and_those_of_the_scheduler_need_not_all_be_there() -> None:
    patched = {"packages": {**CLIENT["packages"], "python": "3.13.9.final.0"}}
    _check_versions({"client": CLIENT, "scheduler": {"packages": OWN}, "workers": {"tcp://a:1": patched}})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "^tcp://127.0.0.1:9: no scheduler of Dask answers there"),
        ("http://127.0.0.1:9", "^http://127.0.0.1:9: no scheduler of Dask answers there: .*unknown address scheme"),
        ("tls://127.0.0.1:9", "^tls://127.0.0.1:9: no scheduler of Dask answers there: .*ssl_context"),
        ("somewhere", "^somewhere: no scheduler of Dask answers there: missing port number"),
    ],
)
def test_an_address_without_a_scheduler_is_refused(
    address: str, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bestbefore.replay.cluster.opening.CONNECTED_WITHIN_S", 0.5)
    with pytest.raises(ClusterError, match=said), join_cluster(address):
        pass
    gc.collect()  # a Client that was not closed prints a traceback when it is freed
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_what_listens_and_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the dashboard, whose port is beside that of the scheduler."""
    monkeypatch.setattr("bestbefore.replay.cluster.opening.CONNECTED_WITHIN_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match=r": no answer within 0.5 s$"), join_cluster(address):
            pass


@pytest.mark.slow
def test_the_address_of_a_worker_is_refused() -> None:
    with start_cluster(1, lambda _: None) as cluster:
        (worker,) = cluster.client.nthreads()
        with pytest.raises(ClusterError, match=r": a worker of Dask: expected"), join_cluster(worker):
            pass


@pytest.mark.slow
def test_a_scheduler_without_workers_is_waited_for_and_refused(
    free_port: Callable[[], int],
    start_process: Callable[..., subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    start_process([
        sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard",
    ], stderr=subprocess.DEVNULL)  # fmt: skip
    monkeypatch.setattr("bestbefore.replay.cluster.opening.CONNECTED_WITHIN_S", 30.0)
    monkeypatch.setattr("bestbefore.replay.cluster.opening.JOINED_WITHIN_S", 0.5)
    with (
        pytest.raises(ClusterError, match=r"^tcp://.*: the scheduler has no workers: start some with dask worker tcp:"),
        join_cluster(f"tcp://127.0.0.1:{port}"),
    ):
        pass


@pytest.mark.parametrize("name", ["distributed", "distributed.client", "distributed.scheduler"])
def test_what_dask_logs_is_not_printed(name: str) -> None:
    """Such as "Failed to reconnect to scheduler", before the line that says so."""
    installed_distributed()
    assert not logging.getLogger(name).isEnabledFor(logging.ERROR)


PARENT = """
import os, signal, sys
from bestbefore.replay.cluster.opening import start_cluster

def hang(argument):
    os.write(1, b"%d\\n" % os.getpid())
    signal.pause() if argument == 1 else [None for _ in iter(int, 1)]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with start_cluster(2, lambda _: None) as cluster, cluster.map(hang, [1, 2]) as values:
        list(values)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_processes_end_with_their_parent(
    tmp_path: Path, sent: signal.Signals, start_process: Callable[..., subprocess.Popen[str]]
) -> None:
    """The pipe on which they print is at its end once none of them is left."""
    (tmp_path / "parent.py").write_text(PARENT)
    parent = start_process(
        [sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert parent.stdout is not None
    workers = {int(parent.stdout.readline()), int(parent.stdout.readline())}
    assert len(workers) == 2
    began_s = time.monotonic()
    if sent is signal.SIGINT:
        os.killpg(parent.pid, sent)  # as a terminal does
    else:
        parent.send_signal(sent)
    parent.communicate(timeout=60)
    assert parent.returncode != 0
    assert time.monotonic() - began_s < (20.0 if sent is signal.SIGINT else 40.0)
