"""What is wrong from the start: an exit status and one plain line, and never a traceback. And how the proxy ends."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon import cli

pytestmark = pytest.mark.live

COMMAND = Path(sys.executable).parent / "bestbefore"
PATIENCE_S = 90.0
DONE, FAILED, WRONG_INPUT = 0, 1, 2
CLOCK = "BESTBEFORE_CLOCK"

Start = Callable[..., Any]
Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(tmp_path: Path, preloaded: Any) -> Refused:
    """Runs a proxy that cannot start; gives its exit status and the one line that it says.

    Options given to it go before those that it brings.
    """

    def run(*options: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        with_state = options if "--state" in options else (*options, "--state", str(tmp_path / "state"))
        status, said = preloaded.run("proxy", "--admin", "off", "--listen", "127.0.0.1:0", *with_state, env=env)
        return status, one_line(said)

    return run


def one_line(said: str) -> str:
    """It has neither greeted nor summed up."""
    lines = [line for line in said.splitlines() if not line.startswith("warning: BESTBEFORE_CLOCK")]
    assert len(lines) == 1, said
    assert lines[0].startswith("bestbefore"), said
    return lines[0]


@pytest.fixture
def refused_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Refused]:
    """Likewise in this process, which spares its start, where one word of the input differs."""
    root, kept = logging.getLogger(), (logging.getLogger().handlers[:], logging.getLogger().level)

    def run_here(*options: str) -> tuple[int, str]:
        state = () if "--state" in options else ("--state", str(tmp_path / "state"))
        status = cli.run(["proxy", "--admin", "off", "--listen", "127.0.0.1:0", "--workers", "1", *options, *state])
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith("bestbefore")
        return status, line

    yield run_here
    root.handlers[:], root.level = kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stat", "x"], "--state"),
        (["surplus"], "surplus"),
        (["--listen", "8080"], 'option listen = "8080": expected HOST:PORT'),
        (["--listen", "0.0.0.0:0"], "set allow_clients or credentials"),
        (["--store", "embeded"], 'expected "embedded", redis://'),
        (["--store", "redis://"], "redis://HOST:PORT"),
        (["--store", "redis://127.0.0.1:99999"], "redis://HOST:PORT"),
        (["--config", "/nowhere/proxy.toml"], "/nowhere/proxy.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_expected(options: list[str], words: str, refused_here: Refused) -> None:
    status, line = refused_here(*options)
    assert status == WRONG_INPUT
    assert words in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stat", "x"], "--state"),
        pytest.param(["--store", "redis://127.0.0.1:6379?socket_timeot=1"], "socket_timeot", marks=pytest.mark.slow),
    ],
)
def test_so_it_is_by_a_process_of_its_own(options: list[str], words: str) -> None:
    """Before and after it imports what it is made of."""
    done = subprocess.run(
        [COMMAND, "proxy", "--admin", "off", *options], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout) == (WRONG_INPUT, "")
    assert words in one_line(done.stderr)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[default]\npolicy = "indtl"', "did you mean indttl?"),
        ("[default]\nthetta = 0.2", "did you mean theta?"),
        ("[default]\ntheta = -1", ":2: [default] theta = -1"),
        ('[[domain]]\nmatch = "a.org"\nobbey = "strict"', "did you mean obey?"),
        ("[proxi]", "did you mean proxy?"),
        ('[proxy]\nlisten = "127.0.0.1:8080', "not valid TOML"),
        ("[proxy]\nlisten = 127.0.0.1:8080", ':2: not valid TOML: listen = 127.0.0.1:8080: a text stands in quotes'),
        ('[proxy]\ncredentials = "nowhere"', "nowhere: No such file or directory"),
        ('[proxy]\ncredentials = "proxy.toml"', "proxy.toml:1: expected USER:PASSWORD"),
    ],
)
def test_a_wrong_configuration_is_named_by_file_and_line_with_the_nearest_name(
    text: str, words: str, refused_here: Refused, tmp_path: Path
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text(text)
    status, line = refused_here("--config", str(config))
    assert status == WRONG_INPUT
    assert f"{config}:" in line
    assert words in line


@pytest.mark.parametrize("content", ["user:", "# users\nuser:password\nhalfline\n"])
def test_a_malformed_file_of_credentials_is_named_without_what_it_holds(
    content: str, refused: Refused, tmp_path: Path
) -> None:
    users, config = tmp_path / "users", tmp_path / "proxy.toml"
    users.write_text(content)
    config.write_text('[proxy]\ncredentials = "users"\n')
    status, line = refused("--config", str(config))
    assert status == WRONG_INPUT
    assert f"{users}:{max(1, content.count('\n'))}: expected USER:PASSWORD" in line
    assert "halfline" not in line


@pytest.mark.parametrize("below", ["file", "file/below"])
def test_a_state_directory_that_cannot_be_made_is_named(below: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, line = refused("--state", str(tmp_path / below))
    assert status == FAILED
    assert f"state directory {tmp_path / below} cannot be used" in line


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that refuses root, too")
@pytest.mark.parametrize(("state", "store"), [("/proc", "redis://127.0.0.1:1"), ("/proc/below", "embedded")])
def test_a_state_directory_that_cannot_be_written_is_named(state: str, store: str, refused: Refused) -> None:
    status, line = refused("--state", state, "--store", store)
    assert status == FAILED
    assert f"state directory {state} cannot be used" in line


def test_ports_and_a_state_directory_in_use_are_named(start_proxy: Start, refused: Refused, tmp_path: Path) -> None:
    proxy = start_proxy()
    listening, state = f"127.0.0.1:{proxy.port}", str(tmp_path / "another")
    assert refused("--listen", listening, "--state", state) == (
        FAILED,
        f"bestbefore: cannot listen on {listening}: the port is in use",
    )
    status, line = refused("--admin", listening, "--state", state)
    assert (status, line.partition(f"{listening}: ")[2]) == (FAILED, "the port is in use")

    status, line = refused("--state", str(proxy.state))
    assert status == FAILED
    assert line.endswith(f"state directory {proxy.state} is in use by another bestbefore (process {proxy.process.pid})")
    assert proxy.get("http://bestbefore.test/").status == 200, "the first goes on"

    assert proxy.stop(signal.SIGINT) == DONE
    assert "since the start" in proxy.output()
    assert "Traceback" not in proxy.output()


def test_a_redis_that_refuses_access_is_distinguished_from_another_server(
    start_valkey: Start, start_raw_origin: Start, refused: Refused
) -> None:
    guarded = start_valkey("--requirepass", "sesame")
    assert "asks for a password" in _wrong(refused("--store", guarded.url))
    line = _wrong(refused("--store", f"redis://user:secret@127.0.0.1:{guarded.port}"))
    assert "refuses the password" in line
    assert "secret" not in line
    web = start_raw_origin(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    assert "no Redis" in _wrong(refused("--store", web.replace("http:", "redis:")))


def _wrong(answer: tuple[int, str]) -> str:
    status, line = answer
    assert status == WRONG_INPUT, line
    return line


@pytest.mark.parametrize("value", ["tomorrow,10", "now", "now,nan"])
def test_a_malformed_clock_is_named(value: str, refused_here: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLOCK, value)
    status, line = refused_here()
    assert status == WRONG_INPUT
    assert f"{CLOCK}={value!r}: expected START,FACTOR" in line


def test_a_clock_without_a_store_of_its_own_is_refused() -> None:
    done = subprocess.run(
        [COMMAND, "proxy"], capture_output=True, text=True, check=False, env={**os.environ, CLOCK: "now,10"}
    )
    assert done.returncode == WRONG_INPUT
    assert done.stderr.splitlines() == [
        f"bestbefore: {CLOCK} needs --state or --store: another clock needs another store"
    ]


def test_a_store_of_another_clock_is_refused(start_proxy: Start, refused: Refused) -> None:
    proxy = start_proxy("--quiet", env={CLOCK: "now,10"})
    assert proxy.stop(signal.SIGTERM) == DONE
    assert "since the start" in proxy.output(), "quiet is without the lines, and not without the summary"
    status, line = refused()
    assert status == WRONG_INPUT
    assert CLOCK in line
    assert "use another store" in line


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_while_it_starts_ends_it_cleanly(
    how: signal.Signals, tmp_path: Path, start_process: Callable[..., subprocess.Popen[str]]
) -> None:
    state = tmp_path / "state"
    process = start_process(
        [COMMAND, "proxy", "--listen", "127.0.0.1:0", "--admin", "off", "--state", state],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end = time.monotonic() + PATIENCE_S
    while not (state / "salt").exists():  # from here on there is something to be put in order
        assert time.monotonic() < end
        time.sleep(0.001)
    process.send_signal(how)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == DONE, said
    assert "Traceback" not in said
    assert not (state / "valkey" / "socket").exists(), "its server has ended too"
