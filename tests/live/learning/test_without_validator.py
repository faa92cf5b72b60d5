"""Objects without validators: what is learnt of them makes hits, through a real proxy."""

import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
CLOCK = "now,600"
"""Ten minutes are a second."""


def answer(handler: BaseHTTPRequestHandler) -> None:
    """Answer without validator: with a package, the same page for all, or one for each user."""
    user = handler.headers["X-User"] if handler.path == "/mine" else "all"
    is_package = handler.path.endswith(".whl")
    body = b"PK" + bytes(100_000) if is_package else f"page of {user}".encode()
    handler.send_response_only(200)
    handler.send_header("Content-Type", "application/octet-stream" if is_package else "text/html")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def url(start_origin: Callable[..., Any]) -> str:
    """The URL of the origin."""
    origin = start_origin({})
    origin.answer = answer
    return str(origin.url)


def get(proxy: Any, url: str, client: str, **fields: str) -> tuple[bytes, bool]:
    """What a client at this address gets, and whether it is a hit."""
    connection = HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S, source_address=(client, 0))
    try:
        connection.request("GET", url, headers={"X-User": client, **fields})
        response = connection.getresponse()
        return response.read(), "; hit" in (response.headers["Cache-Status"] or "")
    finally:
        connection.close()


def test_a_package_is_learnt_at_the_second_contact_and_show_says_what_is_missing(
    shared_proxy: Any, url: str, bestbefore: Callable[..., str]
) -> None:
    told = []
    for n in range(1, 5):
        told.append(get(shared_proxy, f"{url}/a.whl", f"127.0.0.{n}")[1])
        time.sleep(0.002)
        if len(told) == 1:
            shared_proxy.wait_for_log(" learning ")
            shared_proxy.has_written()
            said = bestbefore("show", "--state", shared_proxy.state, f"{url}/a.whl")
            assert "stored for all, after one more contact with the same content" in said
    assert told == [False, False, True, True]
    shared_proxy.wait_for_log(" learned ")


def test_a_page_is_shared_when_clients_get_the_same_and_only_then(
    start_proxy: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[default]\nbootstrap = "10m"\n')
    proxy = start_proxy("--config", str(config), env={"BESTBEFORE_CLOCK": CLOCK}, state=tmp_path / "state")
    for n in range(1, 250):
        client = f"127.0.0.{n}"  # each asks once: what is a hit was fetched by another
        body, shared = get(proxy, f"{url}/page", client)
        assert body == b"page of all"
        assert n > 3 or not shared
        assert get(proxy, f"{url}/mine", client) == (f"page of {client}".encode(), False)
        assert not get(proxy, f"{url}/page", client, Cookie="a=1")[1]
        if shared:
            return
        time.sleep(0.01)
    pytest.fail("the page was not shared")
