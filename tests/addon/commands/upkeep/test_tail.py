"""`bestbefore tail`."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.formats import log_format
from bestbefore.addon.admin.log.requests import RequestLines
from bestbefore.addon.engine.outcome import Outcome

Run = Callable[..., tuple[int, str, str]]
COMMAND = Path(sys.executable).parent / "bestbefore"
URLS = "http://www.example.org/a", "https://example.net/b"
HIT = Answered(1706227238.5, "192.0.2.7", "GET", URLS[0], 0.0004, 200, Outcome.HIT, "indttl", 60.0, 200)
MISS = Answered(1706227239.5, "192.0.2.8", "HEAD", URLS[1], 1.5, 404, Outcome.MISS, "uri-miss", complete=False)
as_json = log_format("json", keep_query=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.log"
    path.write_text(f"{as_json(HIT)}\n{as_json(MISS)}\n{{\"cut\n{as_json(HIT)}")
    return path


@pytest.mark.parametrize(("options", "passed"), [
    ([], [HIT, MISS]),
    (["--url", "*.example.org"], [HIT]),
    (["--url", "example.net/b"], [MISS]),
    (["--client", "192.0.2.8"], [MISS]),
    (["--verdict", "hit", "--verdict", "stale"], [HIT]),
    (["--reason", "uri-miss"], [MISS]),
    (["--slower", "1s"], [MISS]),
    (["--slower", "1s", "--verdict", "hit"], []),
])  # fmt: skip
def test_the_lines_are_those_that_the_proxy_prints_and_pass_the_filters(
    bestbefore: Run, log: Path, options: list[str], passed: list[Answered]
) -> None:
    lines = RequestLines(sys.stdout)
    assert bestbefore("tail", "--all", log, *options) == (0, "".join(lines.line(one) + "\n" for one in passed), "")
    assert bestbefore("tail", "--all", "--json", log, *options)[1] == "".join(as_json(one) + "\n" for one in passed)
    last = "".join(lines.line(one) + "\n" for one in passed[-1:])
    assert bestbefore("tail", "--all", "--lines", "1", log, *options) == (0, last, "")


def test_what_cannot_be_followed_is_an_error_of_one_line(bestbefore: Run, log: Path, tmp_path: Path) -> None:
    told = f"bestbefore: {tmp_path}/none: No such file or directory: expected the file of the request log\n"
    assert bestbefore("tail", tmp_path / "none") == (2, "", told)
    assert bestbefore("tail", log, "--admin", "x:1") == (2, "", "bestbefore: FILE and --admin exclude each other\n")
    config = tmp_path / "off.toml"
    config.write_text('[proxy]\nadmin = "off"\n')
    assert "admin address of this configuration is off: give --admin" in bestbefore("tail", "--config", config)[2]
    assert bestbefore("tail", log, "--slower", "soon")[0] == 2
    assert bestbefore("tail", log, "--client", "me") == (2, "", "bestbefore: --client me: expected an IP address\n")
    log.write_text("2026-11-20 05:53:31Z  miss\n")
    assert 'set log_format = "json"' in bestbefore("tail", log)[2]


@pytest.mark.live
def test_a_log_is_followed_over_its_rotation(log: Path, tmp_path: Path, start_process: Callable[..., Any]) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\nlog_file = "access.log"\n')
    words = [COMMAND, "tail", "--json", "--lines", "1", "--config", config]
    process = start_process(words, stdout=subprocess.PIPE, text=True)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()
    assert json.loads(lines.get(timeout=60))["verdict"] == "miss"
    with log.open("a") as file:
        file.write("\n")
    assert json.loads(lines.get(timeout=60))["verdict"] == "hit"
    log.rename(tmp_path / "access.log.1")
    log.write_text(as_json(MISS) + "\n")
    assert json.loads(lines.get(timeout=60))["verdict"] == "miss"
