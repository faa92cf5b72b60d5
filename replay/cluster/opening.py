"""The opening of a Dask cluster: one that runs elsewhere, or one of processes on this machine."""

import asyncio
import logging
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from typing import Any

from bestbefore.replay.cluster.cluster import DaskCluster
from bestbefore.replay.cluster.errors import ClusterError

CONNECTED_WITHIN_S = 10.0
JOINED_WITHIN_S = 30.0
"""So long a scheduler without workers is waited for."""
SAME = ("bestbefore", "dask", "distributed", "python", "numpy")
"""The packages whose versions must be the same on all machines; of Python the second number decides."""

_LEAVES_INTERRUPTS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""What a process of `start_cluster` begins with: a terminal sends Ctrl-C to all, and the parent ends the others."""


@contextmanager
def join_cluster(address: str) -> Iterator[DaskCluster]:
    """Yield the cluster whose scheduler has this address, such as `tcp://host:8786`.

    Raises ClusterError if there is no scheduler, or no worker, or another version of a package in `SAME` on a worker.
    """
    distributed = installed_distributed()
    # A Client that finds no scheduler is not closed: Dask would try so when it is freed, and print a traceback.
    with _described(address):
        asyncio.run(_reach(address))
    with _client(distributed, address, address) as client:
        _wait_for_workers(client, address)
        _check_versions(client.get_versions(packages=SAME))
        yield DaskCluster(client, address)


@contextmanager
def start_cluster(jobs: int, say: Callable[[str], None]) -> Iterator[DaskCluster]:
    """Yield a cluster of this many processes of one thread each, which end with the context and with this process.

    A process that dies is replaced. Calls `say` once, with the address of the dashboard.
    """
    distributed = installed_distributed()
    others = set(multiprocessing.active_children())
    try:
        try:
            processes = distributed.LocalCluster(
                n_workers=jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
                memory_limit=0, silence_logs=logging.CRITICAL, preload=[_LEAVES_INTERRUPTS],
            )
        except (OSError, RuntimeError) as error:
            raise ClusterError(f"no cluster of {jobs} processes on this machine: {error}") from None
        with _closed_unless_interrupted(processes), _client(distributed, processes, "127.0.0.1") as client:
            say(f"{jobs} processes, watched at {client.dashboard_link}")
            yield DaskCluster(client, "this machine")
    except KeyboardInterrupt:
        _abandon(set(multiprocessing.active_children()) - others)
        raise


@contextmanager
def _closed_unless_interrupted(cluster: Any) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        cluster.close()
        raise
    cluster.close()


def _abandon(processes: Iterable[BaseProcess]) -> None:
    """Kill processes of clusters, which Dask would let end their work for seconds, or fail to end while they start."""
    from distributed import Status
    from distributed.deploy import SpecCluster

    for cluster in list(SpecCluster._instances):  # noqa: SLF001 - one interrupted early has no name here
        cluster.shutdown_on_close = False  # or it would be closed at exit
        for watched in list(cluster.workers.values()):
            watched.status = Status.closing  # or it would start another process
    for process in processes:
        process.kill()


def installed_distributed() -> Any:
    """Import Dask's scheduler. Raises ClusterError if it is not installed."""
    try:
        import dask
        import distributed
    except ImportError:
        raise ClusterError("Dask needs the extra 'dask': pip install '.[dask]' in a clone") from None
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised, and Dask logs each many times
    # A function is sent once with its data, as the feeds of a paper, of which Dask would print a warning.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"})
    return distributed


@contextmanager
def _client(distributed: Any, scheduler: object, address: str) -> Iterator[Any]:
    with _described(address):
        client = distributed.Client(scheduler, timeout=CONNECTED_WITHIN_S, set_as_default=False, name="bestbefore")
    with client:
        yield client


async def _reach(address: str) -> None:
    """Ask what is at the address. Raises ClusterError, OSError, and what Dask raises for a wrong address."""
    from distributed.core import rpc
    from distributed.security import Security

    tls = Security().get_connection_args("client")
    try:
        # What speaks another protocol, such as the dashboard, may never answer.
        async with asyncio.timeout(CONNECTED_WITHIN_S + 1.0):
            async with rpc(address, CONNECTED_WITHIN_S, connection_args=tls) as there:
                kind = (await there.identity())["type"]
    except TimeoutError:
        raise OSError(f"no answer within {CONNECTED_WITHIN_S:g} s") from None
    if kind != "Scheduler":
        raise ClusterError(f"{address}: a {kind.lower()} of Dask: expected the address of the scheduler")


@contextmanager
def _described(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, TypeError, OverflowError) as error:
        why = " ".join(str(error).split())
        raise ClusterError(f"{address}: no scheduler of Dask answers there: {why}") from None


def _wait_for_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=JOINED_WITHIN_S)
    except TimeoutError:
        raise ClusterError(f"{address}: the scheduler has no workers: start some with dask worker {address}") from None


def _check_versions(found: Any) -> None:
    """Raise ClusterError for the first worker, or the scheduler, with another version of a package."""
    wanted = {**found["client"]["packages"], "bestbefore": version("bestbefore")}
    machines = {f"worker {address}": machine for address, machine in found["workers"].items()}
    for name, machine in {"the scheduler": found["scheduler"], **machines}.items():
        there = machine["packages"]
        for package in SAME:
            own, other = wanted[package], there.get(package)
            if name == "the scheduler" and package in ("bestbefore", "numpy"):
                continue  # it passes on what it does not read
            if package == "python":
                own, other = (".".join(str(text).split(".")[:2]) for text in (own, other))
            if own != other:
                raise ClusterError(f"{name} has {package} {other or 'not at all'}: expected {own}, as here")
