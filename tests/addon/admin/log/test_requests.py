import os
import pty
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.requests import HEADING, RequestLog
from bestbefore.addon.admin.log.writer import Writer
from bestbefore.addon.engine.outcome import Outcome

HIT = Answered(
    time_s=1706227238.5, duration_s=0.00042, client="192.0.2.7", method="GET", url="http://www.example.org/a?q=1",
    status=200, outcome=Outcome.HIT, reason="indttl", ttl_s=4321.0, sent_bytes=12_345,
)


@pytest.fixture
def logged(tmp_path: Path) -> Callable[..., list[str]]:
    """Logs requests to a file and returns its lines."""

    def log(*requests: Answered) -> list[str]:
        path = tmp_path / "log"
        with path.open("w") as stream:
            writer = Writer(stream)
            request_log = RequestLog(stream, writer)
            for answered in requests:
                request_log.add(answered)
            writer.close()
        return path.read_text().splitlines()

    return log


def on_a_terminal(request: Answered) -> list[str]:
    """The lines of a log of one request on a pseudo-terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        writer = Writer(stream)
        RequestLog(stream, writer).add(request)
        writer.close()
    received = b""
    with suppress(OSError):
        while part := os.read(master, 65_536):
            received += part
    os.close(master)
    return received.decode().splitlines()


def test_a_line_has_time_outcome_reason_duration_and_url(logged: Callable[..., list[str]]) -> None:
    assert logged(HIT) == [
        "2024-01-26 00:00:38Z  hit       indttl                    72m  200   12kB  0.4ms  http://www.example.org/a"
    ]


def test_the_columns_of_all_outcomes_stand_below_each_other(logged: Callable[..., list[str]]) -> None:
    requests = [replace(HIT, outcome=outcome, ttl_s=None) for outcome in Outcome]
    requests.append(replace(HIT, reason="stale-while-revalidate", ttl_s=-3.1e7, sent_bytes=2**40, duration_s=3e4))
    lines = logged(*requests)
    assert {line.index("http://") for line in lines} == {HEADING.index("URL")}
    assert {line.index(" 200 ") for line in lines} == {HEADING.index("code")}


def test_time_follows_the_request(logged: Callable[..., list[str]]) -> None:
    lines = logged(HIT, replace(HIT, time_s=1706227239.0), replace(HIT, time_s=1706227238.0))
    assert [line[17:19] for line in lines] == ["38", "39", "38"]


def test_other_methods_and_broken_answers_are_marked(logged: Callable[..., list[str]]) -> None:
    (line,) = logged(replace(HIT, method="POST", complete=False))
    assert line.endswith("  POST http://www.example.org/a (truncated)")


def test_a_piped_log_has_neither_colours_nor_heading(logged: Callable[..., list[str]]) -> None:
    lines = logged(HIT)
    assert len(lines) == 1
    assert "\x1b" not in lines[0]


def test_on_a_terminal_there_is_a_heading_and_the_verdict_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    heading, line = on_a_terminal(HIT)
    assert HEADING in heading
    assert "\x1b[32mhit      \x1b[0m indttl " in line
    assert re.sub(r"\x1b\[[0-9;]*m", "", line).index("http://") == HEADING.index("URL")


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in on_a_terminal(HIT)[1]
