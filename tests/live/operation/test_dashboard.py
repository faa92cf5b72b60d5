"""The dashboard of a running proxy, as a browser, a program and a page of another origin ask for it."""

import base64
import json
import re
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import pytest

from bestbefore.addon import cli

pytestmark = pytest.mark.live

PATIENCE_S = 90.0
HOSTILE = "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E?q=<img/src=x>&'\"{{7*7}}"
PAGES = ("/", "/requests", "/domains", "/objects", "/feeds", "/plan", "/policies", "/tunnels", "/configuration")
CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
CLICKED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FRAMED = {**CLICKED, "Sec-Fetch-Dest": "iframe"}
PASSED_ON = {"X-Forwarded-For": "127.0.0.1"}


class Shown(NamedTuple):
    status: int
    fields: Mapping[str, str]
    text: str


RULE = '[[domain]]\nmatch = "127.0.0.1/feeds/*"\npolicy = "ttl"\n'
UPDATES = {"/page": [1_000_000_000.0], HOSTILE: [1_000_000_000.0], **{f"/{n}": [1e9] for n in range(60)}}

type Show = Callable[..., Shown]
type Act = Callable[..., Shown]


@pytest.fixture(scope="module")
def proxy(start_module_proxy: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "users").write_text("ann:open sesame\n")
    config = folder / "bestbefore.toml"
    config.write_text('[proxy]\nadmin_credentials = "users"\ntraffic_log = true\n' + RULE)
    return start_module_proxy("--config", str(config))


@pytest.fixture(scope="module")
def origin(proxy: Any, start_module_origin: Any) -> Any:
    """An origin of which the proxy has stored all, `/page` and the hostile URL twice."""
    started = start_module_origin(UPDATES)
    started.extra = {"Cache-Control": "max-age=600"}
    for path in (*UPDATES, "/page", HOSTILE):
        assert proxy.get(started.url + path).status == 200
    proxy.has_written()
    return started


@pytest.fixture(scope="module")
def show(proxy: Any) -> Show:
    found = re.search(r"dashboard +http://127\.0\.0\.1:(\d+)/\n", proxy.greeting)
    assert found is not None, proxy.greeting

    def ask(path: str, fields: Mapping[str, str] | None = None, method: str = "GET", body: str | None = None) -> Shown:
        connection = HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE_S)
        try:
            connection.request(method, path, body=body, headers=dict(fields or {}))
            answer = connection.getresponse()
            return Shown(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        finally:
            connection.close()

    return ask


def password(text: str) -> Mapping[str, str]:
    return {**PASSED_ON, "Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize("path", [*PAGES, "/objects?url=ORIGIN/page"])
def test_a_page_is_whole_without_script_and_can_hold_none_of_others(show: Show, origin: Any, path: str) -> None:
    status, fields, text = show(path.replace("ORIGIN", quote(origin.url)))
    assert status == 200, text
    policy = dict(part.strip().split(" ", 1) for part in fields["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert (fields["x-frame-options"], fields["referrer-policy"]) == ("DENY", "same-origin")
    assert (fields["cache-control"], fields["x-content-type-options"]) == ("no-store", "nosniff")
    assert re.findall(r"<script\b[^>]*>", text) == ['<script src="/static/dashboard.js" defer>']
    assert "style=" not in text
    assert text.count("<h1>") == text.count("<main ") == 1
    assert text.count("<table>") == text.count("<caption>")
    assert text.count("<html") == text.count("</html>") == 1


def test_a_page_of_another_origin_reads_nothing(show: Show) -> None:
    assert show("/", {"Host": "rebound.example"}).status == 403
    for fields in (CROSS_SITE, FRAMED, {**CROSS_SITE, "Sec-Fetch-Site": "same-site"}, {"Origin": "http://x.example"}):
        for path in (*PAGES, "/live?page=/"):
            assert show(path, fields).status == 403
    assert show("/", {"Origin": "null"}).status == 403
    assert show("/", CLICKED).status == 200
    assert show("/live?page=/", FRAMED).status == 403


def test_another_machine_needs_the_password_and_may_not_try_for_long(show: Show) -> None:
    answer = show("/", PASSED_ON)
    assert (answer.status, answer.fields["www-authenticate"][:5]) == (401, "Basic")
    assert show("/", password("ann:open sesame")).status == 200
    assert "<textarea" not in show("/configuration", password("ann:open sesame")).text, "which has the file"
    wrong = [show("/", password(f"ann:{number}")).status for number in range(11)]
    assert wrong == [401] * 10 + [429]
    assert show("/", password("ann:open sesame")).status == 429
    assert show("/").status == 200, "this machine needs none"
    assert show("/metrics", PASSED_ON).status == 200, "metrics hold nothing personal"


def test_what_comes_from_the_web_is_shown_and_never_markup(show: Show, proxy: Any, origin: Any) -> None:
    show("/requests")  # begins to keep requests
    url = origin.url + HOSTILE
    assert proxy.get(url).is_hit
    for path in ("/requests", "/objects", f"/objects?url={quote(url)}", f"/requests?text={quote('<b>&' + chr(34))}"):
        text = show(path).text
        assert re.findall(r"<(?:script|img|b)\b[^>]*>", text) == ['<script src="/static/dashboard.js" defer>']
        assert "{{7*7}}" in text or "&lt;b&gt;&amp;&#34;" in text
    missing = show(f"/objects?url={quote('http://<script>/')}")
    assert missing.status == 404
    assert missing.text.count("<script") == 1


def test_requests_are_shown_as_they_come_and_filtered(show: Show, proxy: Any, origin: Any) -> None:
    show("/requests")
    proxy.get(origin.url + "/page")
    proxy.get(origin.url + "/absent")
    assert "/page</a>" in show("/requests?outcome=hit&text=/page&domain=127.0.0.1").text
    missed = show("/requests?outcome=miss&text=/absent").text
    assert "1 of 1 that match" in missed
    assert "/page</a>" not in missed


def test_a_live_page_sends_what_has_changed(show: Show, proxy: Any, origin: Any) -> None:
    port = int(re.search(r"dashboard +http://127\.0\.0\.1:(\d+)/", proxy.greeting)[1])  # type: ignore[index]
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/live?page=/requests&text=/absent")
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    first = answer.readline()
    assert first.startswith(b"data: ")
    proxy.get(origin.url + "/absent")
    while not (line := answer.readline()).startswith(b"data: "):
        pass
    assert "/absent</a>" in json.loads(line[6:])
    answer.close()
    connection.close()


def test_objects_are_paged(show: Show, origin: Any) -> None:
    first, second = show("/objects"), show("/objects?start=50")
    urls = [set(re.findall(r'href="/objects\?url=([^"]+)"', page.text)) for page in (first, second)]
    assert len(urls[0]) == 50
    assert len(urls[1]) >= 10
    assert not urls[0] & urls[1]
    assert 'href="/objects?start=50"' in first.text
    assert 'href="/objects?start=0"' in second.text
    found = show("/objects?url=%2F5").text
    assert len(set(re.findall(r'href="/objects\?url=(http[^"]+)"', found))) == 11, "5 and 50 to 59"
    assert "%22%3E%3Cscript" in show("/objects?url=%253eALERT").text
    assert "No URL of a counted object" in show("/objects?url=" + quote("<b>*")).text
    assert show("/objects?start=nonsense").text.count("<tr>") == first.text.count("<tr>")


def test_an_object_is_explained(show: Show, origin: Any) -> None:
    text = show(f"/objects?url={quote(origin.url + '/page')}").text
    assert "fresh: expires" in text
    assert text.count("<svg") >= 1
    assert "<pre" in text
    domains = show("/domains?sort=contacts").text
    assert 'aria-sort="descending"' in domains
    assert ">127.0.0.1</a>" in domains
    assert "<summary>ttl <small>for 127.0.0.1/feeds/*</small></summary>" in domains


def acting(show: Show) -> Act:
    """What a form of ours on this machine does."""
    token = re.search(r'name="token" value="([^"]+)"', show("/").text)
    assert token is not None

    def act(action: str, given: str = token[1], fields: Mapping[str, str] | None = None, **form: str) -> Shown:
        body = urlencode({"token": given, "action": action, **form})
        return show("/act", {"Content-Type": "application/x-www-form-urlencoded", **(fields or {})}, "POST", body)

    return act


def test_an_origin_that_is_down_is_named_first_until_it_answers(show: Show, proxy: Any, origin: Any) -> None:
    gone = origin.url.rpartition(":")[0] + ":9"
    assert proxy.get(gone + "/page").status == 502
    assert "One origin is down: 127.0.0.1:9." in show("/").text
    assert "origin-unreachable" in show("/domains").text
    assert proxy.get(origin.url + "/absent").status == 404
    assert "One origin is down: 127.0.0.1:9." in show("/").text, "another port is another origin"


def test_the_proxy_goes_offline_and_online_again(show: Show, proxy: Any, origin: Any) -> None:
    act = acting(show)
    assert act("offline").fields["location"] == "/?done=offline"
    overview = show("/").text
    assert "The proxy is offline" in overview
    refused = proxy.get(origin.url + "/never")
    assert (refused.status, "detail=offline" in refused.fields["cache-status"]) == (504, True)
    assert proxy.get("http://bestbefore.test/ca.pem").status == 200, "its own pages need no origin"
    assert proxy.get(origin.url + "/page").is_hit
    assert ">true</td><td class=\"time\">dashboard<" in show("/configuration").text
    assert act("online").status == 303
    assert "The proxy is offline" not in show("/").text
    assert proxy.get(origin.url + "/never").status == 404


def test_another_configuration_is_checked_and_not_written(show: Show) -> None:
    token = re.search(r'name="token" value="([^"]+)"', show("/configuration").text)
    assert token is not None

    def check(text: str, given: str = token[1], fields: Mapping[str, str] | None = None) -> Shown:
        form = urlencode({"token": given, "text": text})
        kind = {"Content-Type": "application/x-www-form-urlencoded", **(fields or {})}
        return show("/configuration", kind, "POST", form)

    valid = check('[proxy]\r\nadmin_credentials = "users"\r\ntraffic_log = true\r\nkeep = "3d"\r\n' + RULE).text
    assert "<strong>The text is valid.</strong> It would change 1 value." in valid
    assert re.search(r"<code>keep</code>.*3d</td>\s*<td>a restart<", valid, re.DOTALL)
    assert "\n+keep = &#34;3d&#34;" in valid
    assert "The text is valid" in check("# a comment\n" * 20_000).text, "a long file"
    wrong = check('[proxy]\nkeep = "</textarea><script>alert(1)</script>"').text
    assert "bestbefore.toml:2: [proxy] keep = " in wrong
    assert wrong.count("<script") == 1
    assert "would change nothing" in check('[proxy]\nadmin_credentials = "users"\ntraffic_log = true\n' + RULE).text
    assert [check("", "x").status, check("", fields=CROSS_SITE).status] == [403, 403]
    assert check("", fields=PASSED_ON).status in (401, 429)
    assert ">3d<" not in show("/configuration").text


def test_a_refused_configuration_is_named_until_it_is_mended(proxy: Any, show: Show) -> None:
    file = Path(re.search(r"<p>File: <code>([^<]+)</code>", show("/configuration").text)[1])  # type: ignore[index]
    good = file.read_text()

    def shown_within(text: str, *, wanted: bool) -> bool:
        end_s = time.monotonic() + PATIENCE_S
        while (text in show("/").text) is not wanted and time.monotonic() < end_s:
            time.sleep(0.2)
        return (text in show("/").text) is wanted

    file.write_text(good + "lisen = 1\n")
    assert shown_within("configuration file is refused", wanted=True)
    file.write_text(good)
    assert shown_within("configuration file is refused", wanted=False)


def test_policies_are_compared_on_the_logged_traffic_one_run_at_a_time(show: Show, origin: Any) -> None:
    act = acting(show)
    for wrong in ({"days": "0"}, {"stale_percent": "100"}, {"days": "nan"}, {"stale_percent": "<b>"}):
        assert act("compare", **{"days": "7", "stale_percent": "1", **wrong}).status == 400
    assert act("compare", days="7", stale_percent="1").status == 303
    begun = show("/policies").text
    assert "<code>bestbefore export</code>:" in begun
    assert 'value="compare"' not in begun
    assert act("compare", days="30", stale_percent="2").status == 303, "which begins no second one"
    assert "the last 7 days, at most 1 % stale hits" in show("/policies").text
    assert act("cancel").status == 303
    ended = show("/policies").text
    assert "it was cancelled" in ended
    assert 'value="compare"' in ended


def test_only_a_form_of_ours_on_this_machine_acts(show: Show, proxy: Any, origin: Any) -> None:
    url, do = origin.url + "/7", acting(show)
    token = re.search(r'name="token" value="([^"]+)"', show("/").text)
    assert token is not None

    def act(action: str, fields: Mapping[str, str] | None = None, given: str = token[1]) -> Shown:
        return do(action, given, fields, url=url, host="a.example")

    own_form = {"Host": "0.0.0.0:1", "Origin": "http://0.0.0.0:1"}  # there browsers send no Sec-Fetch-Site
    for fields in (
        CROSS_SITE, CLICKED, {"Origin": "http://x.example"}, {"Origin": "null"}, {"Host": "rebound.example"}, PASSED_ON,
        {"Via": "1.1 x"},
    ):  # fmt: skip
        assert act("purge", fields).status in (401, 403, 429)
    assert act("purge", given="x").status == 403
    assert show(f"/act?token={token[1]}&action=purge&url={quote(url)}").status == 405
    assert proxy.get(url).is_hit
    done = act("purge", own_form)
    assert (done.status, done.fields["location"]) == (303, f"/objects?url={url}&done=purge")
    assert "were removed" in show(done.fields["location"]).text
    assert not proxy.get(url).is_hit
    proxy.has_written()
    assert act("forget").status == 303
    assert show(f"/objects?url={quote(url)}").status == 404
    assert act("lift").fields["location"] == "/tunnels?done=lift"
    assert [act("refresh").status, act("nothing").status] == [400, 400], "it is in no schedule"


def test_the_configuration_names_the_source_of_each_value(show: Show) -> None:
    text = show("/configuration").text
    found = re.findall(r"<code>(\w+)</code></th><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)<", text)
    rows = {key: (value, source) for key, value, source in found}
    assert rows["admin_credentials"][1] == "line 2"
    assert rows["listen"][1] == "command line"
    assert rows["via_request"] == ("true", "default")
    assert "open sesame" not in text


def test_programs_read_the_figures_and_the_requests_as_they_come(
    show: Show, proxy: Any, origin: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {show(path, PASSED_ON).status for path in ("/top.json", "/requests.json")} <= {401, 429}
    assert show("/requests.json", CROSS_SITE).status == 403
    found = re.search(r"dashboard +http://(127\.0\.0\.1:\d+)/\n", proxy.greeting)
    assert found is not None
    admin = ("--admin", found[1])
    last = json.loads(show("/requests.json").text)["last"]
    proxy.get(origin.url + "/page?programs")
    lines = json.loads(show(f"/requests.json?after={last}").text)["lines"]
    assert [json.loads(line)["url"] for line in lines] == [origin.url + "/page"], "without the query, as in the log"
    assert json.loads(show(f"/requests.json?after={last + 1}").text) == {"last": last + 1, "lost": 0, "lines": []}

    assert cli.run(["tail", *admin, "--all", "--json", "--url", origin.url + "/page"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == lines[0]
    assert cli.run(["top", *admin, "--once", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["requests"] >= figures["hits"] > 0
    assert "127.0.0.1" in [one["domain"] for one in figures["domains"]]
    assert origin.url + "/page" in [one["url"] for one in figures["top_objects"]]
    assert figures["clients"][0]["client"] == "127.0.0.1"
    assert cli.run(["top", *admin, "--once", "--sort", "hits"]) == 0
    assert "domains by hits" in capsys.readouterr().out

    password_of = f"http://ann:wrong@{urlsplit(origin.url).netloc}"
    for given, status, why in (
        ("nowhere", 2, "--admin nowhere: expected HOST:PORT"),
        ("127.0.0.1:1", 1, "no proxy answers at http://127.0.0.1:1/ (Connection refused)"),
        (password_of, 1, "is no such bestbefore (status 404)"),
    ):
        assert cli.run(["top", "--admin", given]) == status
        assert why in capsys.readouterr().err
