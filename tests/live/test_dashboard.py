"""The dashboard of a running proxy, as a browser, a program and a page of another origin ask for it."""

import base64
import re
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 90.0
HOSTILE = "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E?q=<img/src=x>&'\"{{7*7}}"
PAGES = ("/",)
CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
CLICKED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FRAMED = {**CLICKED, "Sec-Fetch-Dest": "iframe"}
PASSED_ON = {"X-Forwarded-For": "127.0.0.1"}


class Shown(NamedTuple):
    status: int
    fields: Mapping[str, str]
    text: str


type Show = Callable[..., Shown]


@pytest.fixture(scope="module")
def proxy(start_module_proxy: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "users").write_text("ann:open sesame\n")
    config = folder / "bestbefore.toml"
    config.write_text('[proxy]\nadmin_credentials = "users"\n')
    return start_module_proxy("--config", str(config))


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


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_without_script_and_can_hold_none_of_others(show: Show, path: str) -> None:
    status, fields, text = show(path)
    assert status == 200, text
    policy = dict(part.strip().split(" ", 1) for part in fields["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert (fields["x-frame-options"], fields["referrer-policy"]) == ("DENY", "no-referrer")
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
    wrong = [show("/", password(f"ann:{number}")).status for number in range(11)]
    assert wrong == [401] * 10 + [429]
    assert show("/", password("ann:open sesame")).status == 429
    assert show("/").status == 200, "this machine needs none"
    assert show("/metrics", PASSED_ON).status == 200, "metrics hold nothing personal"
