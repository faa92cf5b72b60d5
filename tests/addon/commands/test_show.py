import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bestbefore.addon import cli
from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.opening import open_store

pytestmark = pytest.mark.live

FEED = "http://www.example.org/feed"
PAGE = "https://example.net/page?q=1"


async def fill(state: Path, now_s: float) -> None:
    """A store in which a feed was contacted six times, changed twice and is stored, and a page was contacted once.

    The proxy's own certificate was requested, of which nothing is learnt.
    """
    store = await open_store("embedded", clock=RealClock(), state=state)
    for i in range(6):
        seen = Fingerprint(etag=f'"{i // 2}"')
        await store.learn(Observation(FEED, now_s - 3600.0 * (6 - i), "", seen))
    await store.learn(Observation(PAGE, now_s - 60.0, "", Fingerprint(body="d")))
    fields = Fields([("Date", format_http_date(now_s - 3600)), ("ETag", '"2"'), ("Cache-Control", "max-age=90000")])
    at_s = now_s - 3600
    store.put(Copy(FEED, Head(200, fields), BodyRef("digest", 7), at_s, at_s, at_s, at_s), b"content")
    for url, requests in ((FEED, 9), (PAGE, 2), ("http://bestbefore.test/ca.pem", 5)):
        for _ in range(requests):
            store.requested(url)
    known = Candidate(0.25, now_s, 3, bytes([10] * 24), 0.25, (), now_s + 9000.0)
    await store.planning.put_candidates({FEED: known})
    await store.flush()
    await store.close()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    asyncio.run(fill(folder, RealClock().now()))
    return folder


Show = Callable[..., tuple[int, str, str]]

HOLD = """
import asyncio, sys
from pathlib import Path
from bestbefore.addon.clock import RealClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.opening import open_store

async def hold():
    store = await open_store("embedded", clock=RealClock(), state=Path(sys.argv[1]))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(hold())
"""


@pytest.fixture
def held(state: Path, start_process: Callable[..., subprocess.Popen[str]]) -> Iterator[Path]:
    """The same store while another process, as a running proxy, holds it."""
    holder = start_process(
        [sys.executable, "-c", HOLD, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    yield state
    holder.communicate(timeout=60)
    assert holder.returncode == 0


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """Runs `bestbefore show` and returns exit status, output and errors."""

    def run(*args: object) -> tuple[int, str, str]:
        status = cli.run(["show", *map(str, args)])
        return status, *capsys.readouterr()

    return run


def test_without_a_url_the_most_requested_objects_are_listed(show: Show, state: Path) -> None:
    status, out, err = show("--state", state)
    heading, feed, page = out.splitlines()
    assert (status, err) == (0, "")
    assert heading.split() == ["requests", "contacts", "unchanged", "updates", "policy", "next", "check", "URL"]
    assert feed.split() == ["9", "6", "3", "2", "indttl", "in", "24h", FEED]
    assert page.split() == ["2", "1", "0", "0", "indttl", "-", PAGE]


def test_an_object_is_shown_with_history_copies_and_rule(show: Show, state: Path) -> None:
    status, out, err = show(FEED, "--state", state)
    assert (status, err) == (0, "")
    assert out.startswith(f"{FEED}\n  rule        *, obey = strict\n  policy      indttl:theta=0.1,")
    assert "  contacts    6, the last at " in out
    assert "  updates     2; the last ones:\n    between " in out
    assert '    validators  ETag "2"\n    now         fresh: expires ' in out
    assert "(max-age)" in out


def test_the_rate_the_pattern_and_the_next_fetch_of_an_object_are_shown(show: Show, state: Path) -> None:
    """Of five intervals of an hour two had an update: 1 - e^-lambda = 2/5, once in 1.96 hours."""
    _, out, _ = show(FEED, "--state", state)
    assert "  rate        an update every 117m (95%: " in out
    assert "  by the hour of the day: too early to tell, after 5h\n" in out
    assert ", in 2.5h: changes 6 times a day, asked for 3 times in 8 days\n" in out
    report = json.loads(show(FEED, "--state", state, "--json")[1])
    assert report["observed"]["rate"]["per_hour"] == pytest.approx(-math.log(3 / 5), rel=1e-3)
    assert len(report["observed"]["rates_by_hour"]) == 24
    assert report["prefetch"]["reason"] == "changes 6 times a day, asked for 3 times in 8 days"


def test_an_object_of_which_no_fetch_is_to_come_shows_none(show: Show, state: Path) -> None:
    _, out, _ = show(PAGE, "--state", state)
    assert "next fetch" not in out
    assert json.loads(show(PAGE, "--state", state, "--json")[1])["prefetch"] is None


def test_it_works_beside_a_running_proxy(show: Show, held: Path) -> None:
    status, out, err = show(FEED, "--state", held)
    assert (status, err) == (0, "")
    assert "  contacts    6, the last at " in out


def test_json_holds_the_same_as_one_object(show: Show, state: Path) -> None:
    status, out, _ = show(FEED, "--state", state, "--json")
    report = json.loads(out)
    assert status == 0
    assert (report["url"], report["policy"], report["obey"]) == (FEED, "indttl", "strict")
    assert (report["observed"]["contacts"], report["observed"]["updates"]) == (6, 2)
    assert sum(report["observed"]["updates_by_hour"]) == 2
    (variant,) = report["variants"]
    assert (variant["etag"], variant["action"], variant["expires"]["reason"]) == ('"2"', "fresh", "max-age")
    assert variant["expires"]["expiry_s"] == pytest.approx(variant["current_s"] + 90_000)


def test_json_lists_one_object_on_a_line(show: Show, state: Path) -> None:
    _, out, _ = show("--state", state, "--json")
    assert [json.loads(line)["url"] for line in out.splitlines()] == [FEED, PAGE]


def test_the_list_is_sorted_and_cut(show: Show, state: Path) -> None:
    def listed(*options: str) -> list[str]:
        return [json.loads(line)["url"] for line in show("--json", *options, "--state", str(state))[1].splitlines()]

    assert listed() == listed("--sort", "updates") == [FEED, PAGE]
    assert listed("--sort", "url") == [FEED, PAGE]
    assert listed("--limit", "1") == [FEED]
    assert listed("--sort", "next", "--limit", "1") == [FEED]
    assert show("--limit", "0", "--state", str(state))[0] == 2


def test_the_rules_are_those_of_the_configuration(show: Show, state: Path, tmp_path: Path) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[[domain]]\nmatch = "*.example.org"\npolicy = "ttl"\nobey = "shorten"\nmax_ttl = "6h"\n')
    status, out, _ = show(FEED, "--state", state, "--config", config)
    assert status == 0
    assert "  rule        *.example.org, obey = shorten\n  policy      ttl:alpha=0.1," in out
    assert "(ttl)" in out
    assert json.loads(show(FEED, "--state", state, "--config", config, "--json")[1])["params"]["max_ttl"] == 21_600


def test_an_unknown_url_is_answered_with_the_nearest_known_ones(show: Show, state: Path) -> None:
    status, out, err = show("http://www.example.org/fed", "--state", state)
    assert (status, out) == (1, "")
    assert err == (
        "bestbefore: http://www.example.org/fed: nothing is known of it\n"
        f"bestbefore: known are {FEED}\n"
    )


def test_an_empty_store_is_reported(show: Show, tmp_path: Path) -> None:
    (tmp_path / "valkey").mkdir()
    status, _, err = show(FEED, "--state", tmp_path)
    assert status == 1
    assert err.endswith("bestbefore: nothing was learnt of any object yet\n")
    assert show("--state", tmp_path)[:2] == (0, "nothing was requested yet\n")


@pytest.mark.parametrize("url", ["feed", "ftp://example.org/", "http://", "http://[::1/", "http://example.org:99999/"])
def test_what_is_no_url_is_an_error_of_one_line(show: Show, url: str, state: Path) -> None:
    status, out, err = show(url, "--state", state)
    assert (status, out) == (2, "")
    assert err.startswith(f"bestbefore: {url!r} is not an http or https URL")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["none", "other"])
def test_a_folder_without_a_store_is_an_error_and_left_as_it_is(show: Show, name: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o755)
    folder = tmp_path / name
    status, _, err = show("--state", folder)
    assert (status, err) == (
        2, f"bestbefore: {folder}: there is no store in this state folder: no proxy has run with it\n"
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["other"]
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o755


def test_a_store_that_does_not_answer_is_an_error(show: Show, tmp_path: Path) -> None:
    status, out, err = show("--store", f"unix://{tmp_path}/none")
    assert (status, out) == (1, "")
    place = f"unix://{tmp_path}/none"
    assert err == f"bestbefore: the store does not answer ({place}): check its URL, and whether it runs\n"


def test_a_store_that_is_none_is_wrong_input(show: Show) -> None:
    status, _, err = show("--store", "http://example.org")
    assert (status, err.count("\n")) == (2, 1)


def test_the_json_of_an_object_has_what_the_example_of_the_help_selects(show: Show, state: Path) -> None:
    assert "http://www.example.org/feed.xml --json | jq .observed.updates\n" in show("--help")[1]
    assert json.loads(show(FEED, "--state", state, "--json")[1])["observed"]["updates"] == 2


def test_the_url_of_a_channel_that_is_none_is_said_to_be_one(show: Show) -> None:
    status, _, err = show("--hub", "foo")
    assert (status, err.partition("[")[0]) == (2, "bestbefore: channel 'foo': expected redis://")


def test_a_url_and_a_hub_exclude_each_other(show: Show) -> None:
    assert show(FEED, "--hub", "redis://127.0.0.1:1/0") == (2, "", "bestbefore: URL and --hub exclude each other\n")
    for option, value in (("--limit", "3"), ("--sort", "url")):
        told = f"bestbefore: {option} is of the list, which is shown without URL and --hub\n"
        assert show(FEED, option, value) == (2, "", told)
