"""The sessions that pages show, played with real proxies and origins: all but times, sizes and counts is as printed.

A line `...` of a page stands for any lines, one that ends in `...` for any line that begins so.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytestmark = [pytest.mark.live, pytest.mark.skipif(shutil.which("curl") is None, reason="the sessions use curl")]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 90.0
CACHES = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
"""Of the user who runs the tests: kernels take seconds to compile."""
START_S = 1_795_000_000.0
FACTOR = 5
"""Policy time runs so many times as fast, and what sleeps in a session sleeps as much less."""
DAY = 86400.0

MASKS = (
    (r" \\\n +", " "),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", "TIME"),
    (r"http://127\.\d+\.\d+\.\d+:\d+", "http://HOST"),
    (r'ETag "[^"]*"', "ETag"),
    (r"indttl(:\S+|\.\.\.)(?= +(fast|plain))", "indttl"),
    (r"(?<![=\w./:-])-?\d[\d.]*(ms|s|m|h|d)\b", "SPAN"),
    (r"(?<![=\w./:-])-?\d[\d.]*[kMGT]?B\b", "SIZE"),
    (r"(?<![=\w./:-])\d[\d,.]*", "N"),
    (r"(changes|asked for|fetched) (N times a day|once in N days|once a day)", r"\1 SO OFTEN"),
    (r"^( +)now +\S.*$", r"\1now WHATEVER"),
    (r"(indttl|fallback_ttl|uri-miss) +(now|in SPAN|SPAN|-)", r"\1 SOON"),
    (r"^[^|\n]*\|[ #.]*$", "CHART"),
    (r" +", " "),
)


def shapes(text: str) -> list[str]:
    """Its lines with what is another each time masked; lines that are then alike follow each other once."""
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    lines = [line.strip() for line in text.strip("\n").split("\n")]
    return [line for i, line in enumerate(lines) if i == 0 or line != lines[i - 1]]


def is_like(shown: str, printed: str) -> bool:
    return printed.startswith(shown[:-3]) if shown.endswith("...") else printed == shown


def assert_printed(shown: str, printed: str) -> None:
    """Each line that is shown is printed, in this order, with nothing else between, except where the page says so."""
    wanted, lines = shapes(shown), shapes(printed)
    at, free = 0, False
    for line in wanted:
        if line == "...":
            free = True
            continue
        while free and at < len(lines) and not is_like(line, lines[at]):
            at += 1
        assert at < len(lines), f"not printed: {line}\n{printed}"
        assert is_like(line, lines[at]), f"{line}\n{lines[at]}\n{printed}"
        at, free = at + 1, False
    assert free or at == len(lines), f"not shown: {lines[at:]}"


def sessions(page: str) -> list[tuple[str, str]]:
    """The commands of a page, in fenced or indented blocks, with what they print."""
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    indented = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", indented, re.MULTILINE):
        blocks.append(re.sub(r"^    ", "", block, flags=re.MULTILINE))
    found = []
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.replace(" \\\n    ", " ").partition("\n")
            found.append((command, shown))
    return found


def shown_by(page: str, begin: str) -> str:
    """What a page shows of the only command that begins so."""
    (shown,) = (shown for command, shown in sessions(page) if command.startswith(begin))
    return shown


class Terminal:
    """Runs commands as the user who has started the proxy, at the proxy's time."""

    def __init__(self, home: Path, start_proxy: Callable[..., Any], config: str | None = None) -> None:
        self.home = home
        state = home / ".local" / "state" / "bestbefore"
        self.env = {"HOME": str(home), "XDG_STATE_HOME": "", "XDG_CACHE_HOME": CACHES}
        options = []
        if config is not None:
            (home / "proxy.toml").write_text(config)
            options = ["--config", str(home / "proxy.toml")]
        clock = {"BESTBEFORE_CLOCK": f"{START_S},{FACTOR}"}
        self.proxy = start_proxy(*options, state=state, env={**self.env, **clock})

    def run(self, command: str) -> str:
        """What a line of a shell prints."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "BESTBEFORE_CLOCK": f"{self.proxy.policy_time_s()},1"}
        command = command.replace(".venv/bin/", "").replace("127.0.0.1:8080", f"127.0.0.1:{self.proxy.port}")
        command = re.sub(r"sleep (\d+)", lambda found: f"sleep {int(found[1]) / FACTOR}", command)
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.home, env={**os.environ, **self.env, **own}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout.replace(str(self.home), "~")

    def wait_for(self, command: str, words: str) -> str:
        """What it prints as soon as that has these words."""
        end = time.monotonic() + PATIENCE_S
        while True:
            printed = self.run(command)
            if words in printed:
                return printed
            assert time.monotonic() < end, printed
            time.sleep(0.5)


def test_the_first_session_of_the_readme(tmp_path: Path, start_proxy: Callable[..., Any]) -> None:
    terminal = Terminal(tmp_path, start_proxy)
    warning, greeting = terminal.proxy.greeting.replace(str(tmp_path), "~").split("\n", 1)
    assert warning.startswith("warning: BESTBEFORE_CLOCK")
    # The path is printed where the program is not found by its name, which in this process it has no path for.
    greeting = greeting.replace("learnt: bestbefore", "learnt: ~/bestbefore/.venv/bin/bestbefore")
    assert_printed(shown_by("README.md", ".venv/bin/bestbefore proxy"), greeting)
    ((loop, nothing),) = (found for found in sessions("README.md") if found[0].startswith("for "))
    assert terminal.run(loop) == nothing == ""
    assert_printed(
        shown_by("README.md", ".venv/bin/bestbefore show"), terminal.run("bestbefore show http://bestbefore.test/clock")
    )
    (log,) = re.findall(r"```text\n(\d.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert terminal.proxy.stop() == 0
    assert_logged(log, terminal.proxy.output())


def assert_logged(shown: str, printed: str) -> None:
    """Each kind of line that is shown was printed, and first the first of them."""
    lines = [line for line in shapes(printed) if line.startswith("TIME") and "/clock" in line]
    wanted = [line for line in shapes(shown) if line.startswith("TIME")]
    assert lines[0] == wanted[0]
    assert set(wanted) <= set(lines), printed


def feed(times_s: list[float], *, edited: int = 0, channel: str = "") -> bytes:
    items = "".join(
        f"<item><guid>{n}</guid><title>{'edited' if n < edited else 'words'}</title>"
        f"<pubDate>{formatdate(t, usegmt=True)}</pubDate></item>"
        for n, t in enumerate(times_s)
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>{channel}{items}</channel></rss>'.encode()


@pytest.fixture
def serve() -> Iterator[Callable[[str, dict[str, bytes]], str]]:
    """Serves feeds by their paths at an address of loopback; what the dictionary holds may be changed."""
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def serve(address: str, documents: dict[str, bytes]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = documents.get(self.path)
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/rss+xml")
                self.send_header("ETag", f'"{len(body or b"")}"')
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer((address, 0), Handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        servers.append((server, thread))
        return f"http://{address}:{server.server_port}"

    yield serve
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


CONFIG = """
[proxy]
traffic_log = true
[prefetch]
enabled = true
budget = "24/day"
objective = "delay"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of loopback")
def test_the_sessions_of_three_pages(
    tmp_path: Path, start_proxy: Callable[..., Any], serve: Callable[[str, dict[str, bytes]], str]
) -> None:
    """One proxy lives through what observing, feeds and exporting show."""
    terminal = Terminal(tmp_path, start_proxy, CONFIG)
    proxy, page = terminal.proxy, "docs/observing.md"
    end = time.monotonic() + PATIENCE_S
    met: set[str] = set()
    while met < {"hit", "miss", "validated", "updated"}:
        assert time.monotonic() < end, met
        proxy.get("http://bestbefore.test/clock")
        met = set(re.findall(r"^\S+ \S+  (\S+) .*/clock$", proxy.output(), re.MULTILINE))
        time.sleep(0.1)
    (listed,) = (shown for command, shown in sessions(page) if command == "bestbefore show")
    assert_printed(listed, terminal.wait_for("bestbefore show", "bestbefore.test/clock\n"))

    busy = [START_S - 16 * DAY + n * 6343.0 for n in range(218)]
    slow = [START_S - 16 * DAY + n * DAY / 1.6 for n in range(26)]
    documents = {"/0": feed(busy), "/1": feed(slow[::4]), "/2": feed(slow)}
    origins = [serve(f"127.0.1.{n + 1}", documents) for n in range(3)]
    news = {"/feed": feed(busy[:20], channel="<ttl>60</ttl>")}
    example = serve("127.0.0.1", news)
    for _ in range(2):
        for n, origin in enumerate(origins):
            assert proxy.get(f"{origin}/{n}").status == 200
    proxy.get(f"{example}/feed")
    news["/feed"] = feed(busy[:20], edited=3, channel="<ttl>60</ttl>")
    proxy.get(f"{example}/feed", {"Cache-Control": "no-cache"})

    planning = "bestbefore plan --live --config proxy.toml || true"
    terminal.wait_for(planning, "schedule    of 4 objects ")
    posted_s = proxy.policy_time_s() + 1.0  # feeds have whole seconds; the last contact must be before
    news["/feed"] = feed([*busy[:20], posted_s], edited=3, channel="<ttl>60</ttl>")
    time.sleep(3.0 / FACTOR)
    proxy.get(f"{example}/feed", {"Cache-Control": "no-cache"})  # finds the update: that is measured
    plan = terminal.wait_for(planning, "measured    freshness 0.")
    shown, rows = shown_by(page, "bestbefore plan --live").split("URL\n")
    printed, printed_rows = plan.split("URL\n")
    assert_printed(shown, printed)
    path = re.compile(r"/\d$")
    wanted = {path.sub("/N", line) for line in shapes(rows) if line != "..."}
    assert wanted <= {path.sub("/N", line) for line in shapes(printed_rows)}, plan
    assert_printed(
        shown_by(page, "bestbefore show http://127.0.1.1"),
        terminal.wait_for(f"bestbefore show {origins[0]}/0 --config proxy.toml", "next fetch"),
    )
    shown = shown_by("docs/feeds.md", "bestbefore show")
    assert_printed(shown, terminal.run(f"bestbefore show {example}/feed --config proxy.toml"))

    page = "docs/exporting.md"
    command = next(command for command, _ in sessions(page) if "export" in command)
    exported = terminal.run(command)
    assert_printed(shown_by(page, "bestbefore export"), exported)
    replayed = terminal.run(exported.partition("to replay this:\n")[2])
    (table,) = re.findall(r"^    policy +through.*\n(?:    \w.*\n)+", (ROOT / page).read_text(), re.MULTILINE)
    assert_printed(table, "\n".join(line for line in replayed.splitlines() if re.match(r"policy|ttl|indttl", line)))
    counting = next(command for command, _ in sessions(page) if command.startswith("tail"))
    assert_printed(shown_by(page, "tail"), terminal.run(counting))
    assert proxy.stop() == 0
    text = (ROOT / "docs" / "observing.md").read_text()
    lines = re.findall(r"^    20\S+ \S+  (?:miss|hit|validated|updated) .*$", text, re.MULTILINE)
    assert_logged("\n".join(lines), proxy.output())
    (summary,) = re.findall(r"^    summary 20.*$", text, re.MULTILINE)
    assert set(shapes(summary)) <= set(shapes(proxy.output()))
