"""Fields of newer RFCs, from origins that send them."""

import base64
import gzip
import hashlib
import json
import random
import ssl
import time
from collections.abc import Callable, Iterator
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import zstandard

pytestmark = pytest.mark.live

type Answer = Callable[[str, str, dict[str, str]], tuple[dict[str, str], bytes]]
"""Of method, path and the fields of a request: the fields and the content of the response."""


@pytest.fixture
def start_answering() -> Iterator[Callable[[Answer], tuple[str, list[str]]]]:
    """Starts origins that answer by a function; returns the URL, and the list of the paths of its requests."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer, leaf_file: Path | None = None) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                asked.append(self.path)
                fields = {name.lower(): value for name, value in self.headers.items()}
                fields, body = answer(self.command, self.path, fields)
                self.send_response(200)
                for name, value in {**fields, "Content-Length": str(len(body)), "Connection": "close"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if leaf_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(leaf_file)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        name = "http://127.0.0.1" if leaf_file is None else "https://localhost"
        return f"{name}:{server.server_port}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_post_invalidates_the_groups_that_its_response_names(start_answering: Any, shared_proxy: Any) -> None:
    def answer(method: str, path: str, fields: dict[str, str]) -> tuple[dict[str, str], bytes]:
        if method == "POST":
            return {"Cache-Group-Invalidation": '"prices"'}, b""
        return {"Cache-Control": "max-age=600", "Cache-Groups": f'"{path[1:].split("-")[0]}"'}, path.encode()

    url, _ = start_answering(answer)
    paths = ["/prices-1", "/prices-2", "/terms-1"]
    other_url, _ = start_answering(answer)
    for path in paths:
        assert [shared_proxy.get(url + path).is_hit for _ in range(2)] == [False, True]
    assert [shared_proxy.get(other_url + paths[0]).is_hit for _ in range(2)] == [False, True]
    shared_proxy.has_written()
    assert shared_proxy.get(url + "/order", method="POST").status == 200
    assert [shared_proxy.get(url + path).is_hit for path in paths] == [False, False, True]
    assert shared_proxy.get(other_url + paths[0]).is_hit, "groups of another origin"


def test_groups_of_one_host_that_change_at_other_hours_have_other_expiries(
    start_answering: Any, start_module_proxy: Any, bestbefore: Any, tmp_path: Path
) -> None:
    """By the updates of its group decides the policy of an object of which nothing is known yet."""
    hour_s = int(time.time()) // 3600 * 3600
    moved: list[str] = []

    def answer(method: str, path: str, fields: dict[str, str]) -> tuple[dict[str, str], bytes]:
        group, name = ("b", "new") if path in moved else path[1:].split("/")
        given = {"Cache-Groups": f'"{group}"', "ETag": f'"{group}"'}
        if name != "new":  # each day of the last eleven in the same hour, a while from now
            first_s = hour_s + {"a": 5, "b": 15}[group] * 3600 + 60 - 12 * 86_400
            times = [str(first_s + day * 86_400) for day in range(11)]
            given["Update-History"] = ", ".join(times) + f";since={first_s - 3600}"
        return given, path.encode()

    config = tmp_path / "proxy.toml"
    config.write_text('[default]\ngroup = "cache-groups"\ntrust_piggyback = true\n')
    url, _ = start_answering(answer)
    proxy = start_module_proxy("--config", str(config))
    for group in "ab":
        for name in ("1", "2", "new"):
            assert proxy.get(f"{url}/{group}/{name}").status == 200

    def shown(path: str) -> tuple[str, int]:
        """The name of the group, and the hour from now in which the copy expires."""
        proxy.has_written()
        found = json.loads(bestbefore("show", "--json", "--state", proxy.state, "--config", config, url + path))
        return found["group"], round(found["variants"][0]["expires"]["expiry_s"] - hour_s) // 3600

    assert [shown(f"/{group}/new") for group in "ab"] == [(f'"a"@{url}', 5), (f'"b"@{url}', 15)]
    moved.append("/a/new")
    assert proxy.get(url + "/a/new", {"Cache-Control": "no-cache"}).status == 200
    assert shown("/a/new") == (f'"b"@{url}', 15)


def test_parameters_that_the_origin_declares_without_meaning_make_hits(start_answering: Any, shared_proxy: Any) -> None:
    def answer(method: str, path: str, fields: dict[str, str]) -> tuple[dict[str, str], bytes]:
        declared = {} if path.startswith("/plain") else {"No-Vary-Search": 'key-order, params=("utm_source")'}
        return {"Cache-Control": "max-age=600", **declared}, path.encode()

    url, asked = start_answering(answer)
    first = shared_proxy.get(url + "/page?id=1&lang=en&utm_source=a")
    for query in ("id=1&lang=en&utm_source=b", "lang=en&id=1"):
        got = shared_proxy.get(f"{url}/page?{query}")
        assert (got.is_hit, got.body) == (True, first.body)
    assert not shared_proxy.get(url + "/page?id=2&lang=en").is_hit
    assert not shared_proxy.get(url + "/page?lang=en&id=1", {"Cache-Control": "no-cache"}).is_hit
    assert [shared_proxy.get(f"{url}/plain?utm_source={i}").is_hit for i in range(2)] == [False, False]
    assert len(asked) == 5


def test_what_one_proxy_has_stored_is_found_by_another_on_the_same_store(
    start_answering: Any, start_module_proxy: Any, valkey: Any
) -> None:
    def answer(method: str, path: str, fields: dict[str, str]) -> tuple[dict[str, str], bytes]:
        named = {"Cache-Groups": '"prices"'} if path.startswith("/prices") else {}
        return {"Cache-Control": "max-age=600", "No-Vary-Search": 'params=("utm")', **named}, path.encode()

    url, asked = start_answering(answer)
    paths = ["/page?id=1&utm=a", "/prices", "/prices/1"]
    first = start_module_proxy("--store", valkey.url)
    for path in paths:
        assert not first.get(url + path).is_hit
    first.has_written()
    with valkey.client as client:  # as a full server does, by the first of its copies to go
        assert client.srem(f'bb1:grouped:{{"prices"@{url}}}', f"{url}/prices/1") == 1
    second = start_module_proxy("--store", valkey.url)
    assert second.get(url + "/page?utm=b&id=1").is_hit
    assert not second.get(url + "/page?utm=b&id=2").is_hit
    assert second.get(url + "/prices").is_hit
    assert not second.get(url + "/prices/1").is_hit, "an invalidation of the group would not reach this copy"
    assert len(asked) == 5


def test_updates_and_later_versions_are_coded_with_a_copy_as_the_dictionary(
    start_answering: Any, shared_proxy: Any, authority: Any
) -> None:
    old = random.Random(1).randbytes(300_000)
    new = old[:150_000] + b"what is new" + old[150_000:]
    contents, sent = [old], list[int]()

    def answer(method: str, path: str, fields: dict[str, str]) -> tuple[dict[str, str], bytes]:
        known = new if path == "/app.v3.js" else old
        content, digest = contents[-1], hashlib.sha256(known).digest()
        named = {"Cache-Control": "max-age=600", "Use-As-Dictionary": 'match="/app.*"', "ETag": f'"{len(content)}"'}
        offered = fields.get("available-dictionary") == f":{base64.b64encode(digest).decode()}:"
        if offered and "dcz" in fields["accept-encoding"]:
            raw = zstandard.ZstdCompressionDict(known, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
            content = bytes.fromhex("5e2a4d1820000000") + digest + zstandard.ZstdCompressor(
                19, dict_data=raw
            ).compress(content)
            named |= {"Content-Encoding": "dcz", "Vary": "Accept-Encoding, Available-Dictionary"}
            if path == "/app.wrong":
                content = content[:8] + bytes(32) + content[40:]
        elif "gzip" in fields.get("accept-encoding", ""):
            content = gzip.compress(content)
            named["Content-Encoding"] = "gzip"
        sent.append(len(content))
        return named, content

    url, asked = start_answering(answer, authority.leaf_file)
    trust = ssl.create_default_context(cafile=shared_proxy.state / "mitmproxy-ca-cert.pem")
    connection = HTTPSConnection("127.0.0.1", shared_proxy.port, timeout=60, context=trust)
    connection.set_tunnel("localhost", int(url.rpartition(":")[2]))

    def get(path: str = "/app.js", **fields: str) -> tuple[bytes, str | None, bool]:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in fields.items()})
        got = connection.getresponse()
        return got.read(), got.headers["Content-Encoding"], "; hit" in (got.headers["Cache-Status"] or "")

    assert get() == (old, None, False)
    contents.append(new)
    assert get(Cache_Control="no-cache") == (new, None, False)
    assert get() == (new, None, True)
    assert sent[0] == len(old)
    assert sent[1] < 500
    coded, encoding, _ = get(
        Accept_Encoding="dcz", Available_Dictionary=f":{base64.b64encode(hashlib.sha256(old).digest()).decode()}:"
    )
    assert (len(coded), encoding) == (sent[1], "dcz"), "a client with a dictionary of its own goes past the cache"
    assert len(asked) == 3
    contents[:] = [old]
    assert get("/app.wrong") == (old, None, False)
    contents.append(new)
    assert get("/app.wrong", Cache_Control="no-cache") == (new, None, False), "fetched again without the dictionary"
    assert len(asked) == 6
    contents.append(new + b" and more")
    assert get("/app.v3.js") == (contents[-1], None, False), "a copy of another URL that its pattern matches"
    assert get("/app.v3.js") == (contents[-1], None, True)
    assert (sent[-1] < 500, len(asked)) == (True, 7)
    contents[:] = [old]
    assert get("/app.gz", Accept_Encoding="gzip")[1:] == ("gzip", False)
    contents.append(new)
    recoded, encoding, _ = get("/app.gz", Accept_Encoding="gzip", Cache_Control="no-cache")
    assert (sent[-1] < 500, encoding, gzip.decompress(recoded)) == (True, "gzip", new)
    assert get("/app.gz", Accept_Encoding="gzip") == (recoded, "gzip", True)
    connection.close()
