"""Servers and traces that tests of several folders need."""

import faulthandler
import gc
import itertools
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bestbefore.addon.store.server.embedded import server_binary

PATIENCE_S = 60.0
_STDERR = pytest.StashKey[int]()
LONGEST = """
live/store/test_cluster live/workers/test_fleet test_site addon/store/backend/connections/test_cluster
live/learning/test_websub_library equivalence/test_fast conformance/test_conformance equivalence/test_fast_observed
live/origins/test_outages test_adding live/learning/test_learning fuzz/test_fuzz live/store/test_kill test_sessions
live/operation/test_sessions live/store/test_store_kill replay/simulate/test_through_addon live/learning/test_prefetch
live/clients/test_isolation live/clients/test_remote_clients equivalence/test_through_addon
live/store/test_store_faults addon/store/backend/test_repair live/operation/test_reload
replay/simulate/test_fast_observed_engine live/operation/test_bad_input replay/papers/feeds/test_paper
live/clients/test_in_flight replay/papers/adaptive/test_paper live/clients/test_proxy replay/commands/test_recommend
live/learning/test_prefetch_sharing live/clients/test_time_limits
"""
"""What takes longest comes first, so that no process is left with it when the others are done; what mostly waits and
what mostly computes in turn."""

EXAMPLES = 30
"""The most examples of a property in the fast tests; with `-m ""` as many are drawn as the test says."""
SETTINGS = "_hypothesis_internal_use_settings"
"""Where hypothesis has the settings of a test."""


@dataclass
class Valkey:
    """A server on its own directory, on a TCP port and a Unix socket."""

    folder: Path
    settings: list[str]
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def client(self) -> "redis.Redis":
        return redis.Redis(port=self.port, socket_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0))

    def start(self) -> None:
        self.process = subprocess.Popen(
            [server_binary(), "--port", str(self.port), "--save", "", "--appendonly", "no", *self.settings],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            restore_signals=False,  # so that a limit on its files' size is an error to it, not the end
        )
        end = time.monotonic() + PATIENCE_S
        with self.client as client:
            while True:
                try:
                    client.ping()
                except redis.AuthenticationError:  # it answers
                    break
                except redis.ConnectionError:
                    assert self.process.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.005)
                else:
                    break

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# Below those that systems give to clients, and others in each process that tests are spread over.
_PORTS = itertools.count(20_000 + 2_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")))


def _free_port() -> int:
    """A TCP port that was free a moment ago, and that is unlikely to be taken before it is used.

    For other tests that run on this machine it stays taken: by its UDP port, until this process ends.
    """
    for port in _PORTS:
        reserved = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as tried, suppress(OSError):
            reserved.bind(("127.0.0.1", port))
            tried.bind(("127.0.0.1", port))
            reserved.detach()  # which leaves it open
            return port
        reserved.close()
    raise AssertionError


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Finds TCP ports of 127.0.0.1 that are unlikely to be taken before they are used."""
    return _free_port


@pytest.fixture(scope="session")
def start_valkey() -> Iterator[Callable[..., Valkey]]:
    """Start servers with the settings given (as on its command line), for as long as the tests run."""
    servers = []
    with tempfile.TemporaryDirectory(prefix="bb-") as folder:

        def start(*settings: str) -> Valkey:
            own = Path(folder) / str(len(servers))
            own.mkdir()
            # The bus of a cluster would be on a port 10000 higher, which there may not be.
            bus = ["--cluster-port", str(_free_port())] if "--cluster-enabled" in settings else []
            server = Valkey(own, [*settings, *bus], _free_port())
            servers.append(server)
            server.start()
            return server

        yield start
        for server in servers:
            server.kill()


@pytest.fixture(scope="session")
def shared_valkey(start_valkey: Callable[..., Valkey]) -> Valkey:
    """One server for all tests that leave it as it is."""
    return start_valkey()


@pytest.fixture
def valkey(shared_valkey: Valkey) -> Valkey:
    """The same, emptied."""
    with shared_valkey.client as client:
        client.flushall()
    return shared_valkey


@pytest.fixture(scope="session")
def cluster_nodes(start_valkey: Callable[..., Valkey]) -> list[Valkey]:
    """A cluster of two nodes, each with half of the slots."""
    nodes = [start_valkey("--cluster-enabled", "yes") for _ in range(2)]
    clients = [node.client for node in nodes]
    for client, slots in zip(clients, [(0, 8191), (8192, 16383)], strict=True):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
    bus = int(nodes[1].settings[-1])
    clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, bus)
    end = time.monotonic() + PATIENCE_S
    while not all(b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO") for client in clients):
        assert time.monotonic() < end, "the nodes did not meet"
        time.sleep(0.01)
    for client in clients:
        client.close()
    return nodes


@pytest.fixture
def cluster(cluster_nodes: list[Valkey]) -> list[Valkey]:
    """The same, emptied."""
    for node in cluster_nodes:
        with node.client as client:
            client.flushall()
    return cluster_nodes


@pytest.fixture(scope="session")
def replicated_nodes(start_valkey: Callable[..., Valkey]) -> Iterator[list[Valkey]]:
    """A cluster of three primaries, and a replica of each in the same order, which is promoted after a second."""
    settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"]
    nodes = [start_valkey(*settings) for _ in range(6)]
    clients = [node.client for node in nodes]
    for client, slots in zip(clients, [(0, 5460), (5461, 10922), (10923, 16383)], strict=False):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
    for node in nodes[1:]:
        clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, int(node.settings[-1]))
    _wait_for_nodes(clients, lambda client: b"known_nodes:6" in client.execute_command("CLUSTER", "INFO"))
    for client, primary in zip(clients[3:], clients, strict=False):
        client.execute_command("CLUSTER", "REPLICATE", primary.execute_command("CLUSTER", "MYID"))
    for client in clients:
        client.close()
    yield nodes
    for node in nodes:
        if node.process is not None:  # which may have stopped it
            node.process.send_signal(signal.SIGCONT)


@pytest.fixture
def replicated_cluster(replicated_nodes: list[Valkey]) -> list[Valkey]:
    """The same, emptied, after whatever happened to its nodes: the primaries come first, as they have the slots."""
    for node in replicated_nodes:
        if node.process is None:
            node.start()
        node.process.send_signal(signal.SIGCONT)
    clients = [node.client for node in replicated_nodes]
    for client in clients:
        client.config_set("maxmemory", "0")
    _wait_for_nodes(clients, _is_whole)
    by_port = {node.port: node for node in replicated_nodes}
    ranges = sorted(clients[0].execute_command("CLUSTER", "SLOTS"))
    pairs = list(dict.fromkeys((primary[1], replica[1]) for _, _, primary, replica in ranges))
    ordered = [by_port[pair[place]] for place in (0, 1) for pair in pairs]
    assert len(ordered) == 6
    for client in clients:
        if by_port[client.connection_pool.connection_kwargs["port"]] in ordered[:3]:
            client.flushall()
        client.close()
    return ordered


def _is_whole(node: "redis.Redis") -> bool:
    """Whether a node of a cluster sees all others, and each of three primaries with a replica that follows it."""
    if b"cluster_state:ok" not in node.execute_command("CLUSTER", "INFO"):
        return False
    replication = node.info("replication")
    follows = replication.get("master_link_status") == "up" or replication.get("connected_slaves") == 1
    return follows and all(len(one) == 4 for one in node.execute_command("CLUSTER", "SLOTS"))


def _wait_for_nodes(clients: "list[redis.Redis]", check: Callable[["redis.Redis"], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not all(check(client) for client in clients):
        assert time.monotonic() < end, "the nodes did not become a cluster"
        time.sleep(0.05)


@pytest.fixture
def start_process() -> Iterator[Callable[..., "subprocess.Popen[Any]"]]:
    """Start processes as `subprocess.Popen` does; those that still run when the test ends are killed.

    (As a context, Popen would wait for ever for one that a failing test has not come to end.)
    """
    started: list[subprocess.Popen[Any]] = []

    def start(*args: Any, **options: Any) -> "subprocess.Popen[Any]":
        started.append(subprocess.Popen(*args, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        with process:  # its pipes are closed
            pass


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of the recorded traces."""
    folder = os.environ.get("BESTBEFORE_TRACES")
    if folder:
        return Path(folder)
    reason = "BESTBEFORE_TRACES is not set to the folder of the recorded traces"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the small excerpts that belong to the tests."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of pinned counts."""
    return Path(__file__).parent / "golden"


def pytest_configure(config: pytest.Config) -> None:
    """Let the surroundings make no difference to tests.

    Signals reach what tests start, also those that the shell or service above ignores (as Ctrl-C in the background);
    hundreds of connections can be open; no example of a property is too slow, and none is kept for the next run.
    Modules are compiled once, and not by each process that a test starts.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if 0 <= most < 4096 else 4096, most))
    as_in_ci = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow], "database": None}
    hypothesis.settings.register_profile("tests", hypothesis.settings.default, **as_in_ci)
    hypothesis.settings.load_profile("tests")
    config.stash[_STDERR] = os.dup(2)  # which tests are not captured from


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files without a slow test from `-m slow`: importing them all takes each process some seconds."""
    if config.option.markexpr != "slow" or not collection_path.match("test_*.py"):
        return None
    above = itertools.takewhile(Path(__file__).parent.__ne__, collection_path.parents)
    read = [collection_path, *(path for folder in above if (path := folder / "conftest.py").exists())]
    return True if not any("slow" in path.read_text() for path in read) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among the modules and tests, which stay until the end."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest first, leave out what is run by hand, and draw few examples of properties in the fast tests."""
    if "long" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    folder = Path(__file__).parent
    places = {folder / f"{name}.py": place for place, name in enumerate(LONGEST.split())}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    if "not slow" not in config.option.markexpr:
        return
    for function in {item.function for item in items if isinstance(item, pytest.Function)}:
        given = getattr(function, SETTINGS, None)
        if given is not None and given.max_examples > EXAMPLES:
            setattr(function, SETTINGS, hypothesis.settings(given, max_examples=EXAMPLES))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Bound what follows a test as the test was: once it has failed, pytest no longer does."""
    faulthandler.dump_traceback_later(
        float(item.config.getini("faulthandler_timeout")), file=item.config.stash[_STDERR], exit=True
    )
