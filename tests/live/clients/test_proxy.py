"""The proxy as its users meet it: plain and intercepted, HTTP/1 and HTTP/2, in front of an origin, under mitmdump."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

pytestmark = pytest.mark.live

Start = Callable[..., Any]
UPDATES = {"/page": [1_000_000_000.0], "/other": [1_100_000_000.0]}


@contextmanager
def tunnel(proxy: Any, url: str, ca_file: Path, *, alpn: str = "http/1.1") -> Iterator[ssl.SSLSocket]:
    """A TLS connection through the proxy to the host of an https URL."""
    authority = url.removeprefix("https://")
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 60)) as plain:
        plain.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(4096)
        context = ssl.create_default_context(cafile=ca_file)
        context.set_alpn_protocols([alpn])
        with context.wrap_socket(plain, server_hostname=authority.partition(":")[0]) as secure:
            yield secure


def get_1(proxy: Any, url: str, path: str, ca_file: Path) -> bytes:
    """An answer over HTTP/1.1, head and content."""
    with tunnel(proxy, url, ca_file) as secure:
        secure.sendall(f"GET {path} HTTP/1.1\r\nHost: {url[8:]}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while chunk := secure.recv(65536):
            answer += chunk
        return answer


def events_2(proxy: Any, url: str, path: str, ca_file: Path) -> Iterator[h2.events.Event]:
    """What a client sees of an answer over HTTP/2."""
    with tunnel(proxy, url, ca_file, alpn="h2") as secure:
        assert secure.selected_alpn_protocol() == "h2"
        connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        connection.initiate_connection()
        pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", url[8:]), (":path", path)]
        connection.send_headers(1, pseudo, end_stream=True)
        secure.sendall(connection.data_to_send())
        while True:
            for event in connection.receive_data(secure.recv(65536)):
                yield event
                if isinstance(event, h2.events.StreamEnded):
                    return
            secure.sendall(connection.data_to_send())


def get_2(proxy: Any, url: str, path: str, ca_file: Path) -> tuple[dict[str, str], bytes]:
    """An answer over HTTP/2: fields, `:status` among them, and content."""
    fields: dict[str, str] = {}
    body = b""
    for event in events_2(proxy, url, path, ca_file):
        if isinstance(event, h2.events.ResponseReceived):
            fields = {str(name): str(value) for name, value in event.headers}
        elif isinstance(event, h2.events.DataReceived):
            body += event.data
    return fields, body


def test_https_is_cached_and_a_hit_needs_no_origin(shared_proxy: Any, start_origin: Start, authority: Any) -> None:
    origin = start_origin(UPDATES, authority.leaf_file)
    origin.extra = {"Cache-Control": "max-age=60"}
    proxy = shared_proxy
    ours = proxy.state / "mitmproxy-ca-cert.pem"
    assert b"fwd=uri-miss" in get_1(proxy, origin.url, "/page", ours)
    origin.stop()
    answer = get_1(proxy, origin.url, "/page", ours)
    assert b"bestbefore; hit" in answer
    assert answer.endswith(b"/page version 1\n")
    fields, body = get_2(proxy, origin.url, "/page", ours)
    assert fields[":status"] == "200"
    assert "hit" in fields["cache-status"]
    assert body == b"/page version 1\n"
    assert len(origin.contacts) == 1
    missing, _ = get_2(proxy, origin.url, "/other", ours)
    assert (missing[":status"], missing["cache-status"]) == ("502", "bestbefore; detail=origin-unreachable")


def test_hosts_under_passthrough_show_their_own_certificate(
    start_proxy: Start, start_origin: Start, authority: Any, tmp_path: Path
) -> None:
    origin = start_origin(UPDATES, authority.leaf_file)
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\npassthrough = ["localhost"]\n')
    proxy = start_proxy("--config", str(config))
    for _ in range(2):
        assert get_1(proxy, origin.url, "/page", authority.ca_file).endswith(b"/page version 1\n")
    assert len(origin.contacts) == 2


def test_a_client_that_refuses_our_certificate_twice_is_given_a_tunnel(
    start_proxy: Start, start_origin: Start, authority: Any
) -> None:
    origin = start_origin(UPDATES, authority.leaf_file)
    proxy = start_proxy()
    for _ in range(2):
        refused = proxy.refusals()
        with pytest.raises(ssl.SSLCertVerificationError):
            get_1(proxy, origin.url, "/page", authority.ca_file)
        proxy.wait_for_refusal(refused)
    assert get_1(proxy, origin.url, "/page", authority.ca_file).endswith(b"/page version 1\n")


def test_an_unsafe_request_passes_and_drops_the_copy(shared_proxy: Any, start_origin: Start) -> None:
    origin = start_origin(UPDATES)
    origin.extra = {"Cache-Control": "max-age=60"}
    proxy, url = shared_proxy, origin.url + "/page"
    assert [proxy.get(url).is_hit for _ in range(2)] == [False, True]
    body = b"x" * 3_000_000
    answer = post(proxy, url, body)
    assert b"fwd=method" in answer
    assert answer.endswith(body)
    assert not proxy.get(url).is_hit


def post(proxy: Any, url: str, body: bytes) -> bytes:
    """POST this body and return the whole answer."""
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 60)) as client:
        head = f"POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        threading.Thread(target=client.sendall, args=(head.encode() + body,), daemon=True).start()
        answer = b""
        while chunk := client.recv(1 << 20):
            answer += chunk
        return answer


MALFORMED = [
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"1\"\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\nETag: \"1\"\r\n\r\nabcd",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\r\n3\r\nabc\r\n",
    b"HTTP/1.1 999999 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nno colon here\r\nETag: \"1\"\r\nContent-Length: 3\r\n\r\nabc",
    b"",
]


@pytest.mark.parametrize("answer", MALFORMED)
def test_a_malformed_answer_is_refused_or_cut_and_never_stored(
    answer: bytes, shared_proxy: Any, start_raw_origin: Callable[[bytes], str]
) -> None:
    url = start_raw_origin(answer)
    for _ in range(2):
        with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 60)) as client:
            client.sendall(f"GET {url}/ HTTP/1.1\r\nHost: {url[7:]}\r\nConnection: close\r\n\r\n".encode())
            got = b""
            while chunk := client.recv(65536):
                got += chunk
        assert b"; hit" not in got
        assert got.startswith((b"HTTP/1.1 502", b"HTTP/1.1 200"))
    assert "Traceback" not in shared_proxy.output()


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"Content-Length: 0\r\n\r\n"])
def test_an_answer_without_content_ends_on_a_connection_that_stays_open(
    framing: bytes, shared_proxy: Any, start_raw_origin: Callable[[bytes], str]
) -> None:
    url = start_raw_origin(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + framing)
    with closing(HTTPConnection("127.0.0.1", shared_proxy.port, timeout=60)) as client:
        for told in ("fwd=uri-miss", "; hit"):
            client.request("GET", url + "/")
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
            assert told in str(answer.headers["Cache-Status"])


def exchanged(proxy: Any, url: str, version: str) -> bytes:
    """All that a client of HTTP/1 gets for one request."""
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 60)) as client:
        client.sendall(f"GET {url}/ HTTP/{version}\r\nHost: {url[7:]}\r\nConnection: close\r\n\r\n".encode())
        with client.makefile("rb") as answer:
            return answer.read()


def test_interim_responses_reach_clients_of_http_1_1_and_are_not_stored(
    shared_proxy: Any, start_raw_origin: Callable[[bytes], str]
) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", b"HTTP/1.1 142 New\r\nContent-Length: 9\r\n\r\n"
    final = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok"
    url = start_raw_origin(b"".join((*interim, final)))
    hint, other, first, body = exchanged(shared_proxy, url, "1.1").split(b"\r\n\r\n")
    assert hint.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n")
    assert other.startswith(b"HTTP/1.1 142 New\r\n")
    assert b"Content-Length" not in other
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == b"ok"
    hit, _ = exchanged(shared_proxy, url, "1.1").split(b"\r\n\r\n")
    assert hit.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"; hit" in hit
    assert b"Link" not in hit


def test_a_client_of_http_1_0_gets_no_interim_response(
    shared_proxy: Any, start_raw_origin: Callable[[bytes], str]
) -> None:
    url = start_raw_origin(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert exchanged(shared_proxy, url, "1.0").startswith(b"HTTP/1.1 200 OK\r\n")


def test_interim_responses_reach_clients_of_http_2(
    shared_proxy: Any, start_raw_origin: Callable[..., str], authority: Any
) -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    url = start_raw_origin(answer, authority.leaf_file)
    came = list(events_2(shared_proxy, url, "/", Path(shared_proxy.state) / "ca-bundle.pem"))
    (hint,) = [event for event in came if isinstance(event, h2.events.InformationalResponseReceived)]
    (final,) = [event for event in came if isinstance(event, h2.events.ResponseReceived)]
    assert came.index(hint) < came.index(final)
    assert ("link", "</a>") in hint.headers
    assert dict(final.headers)[":status"] == "200"


def test_requests_that_lead_back_to_the_proxy_are_refused(shared_proxy: Any) -> None:
    proxy = shared_proxy
    assert proxy.get(f"http://127.0.0.1:{proxy.port}/").status == 403
    assert b" 403 " in post(proxy, f"http://localhost:{proxy.port}/", b"x")


def test_in_front_of_an_origin_it_reports_updates_to_a_proxy_that_trusts_it(
    start_proxy: Start, start_origin: Start, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    origin = start_origin({"/page": [1_000_000_000.0, 2_000_000_000.0, 2_000_100_000.0]})
    origin.now = lambda: 1_999_000_000.0
    clock = {"BESTBEFORE_CLOCK": "1999000000,1"}
    listen = "--listen", f"127.0.0.1:{free_port()}"  # where it is found again
    front = start_proxy("--mode", f"reverse:{origin.url}", *listen, state=tmp_path / "front", env=clock)
    direct = f"http://127.0.0.1:{front.port}/page"
    config = tmp_path / "trusting.toml"
    config.write_text('[[domain]]\nmatch = "127.0.0.1"\ntrust_piggyback = true\n')
    behind = start_proxy("--config", str(config), state=tmp_path / "behind", env=clock)

    assert behind.get(direct).body == b"/page version 1\n"
    front.stop()
    # Time goes on: the object is updated twice, and the front sees both.
    for now_s in (2_000_050_000, 2_000_150_000):
        origin.now = lambda now_s=now_s: float(now_s)
        front = start_proxy(
            "--mode", f"reverse:{origin.url}", *listen, state=tmp_path / "front",
            env={"BESTBEFORE_CLOCK": f"{now_s},1"},
        )
        asked = front.get("/page", {"Host": "x", "Want-Update-History": "?1", "Cache-Control": "no-cache"})
        if now_s == 2_000_050_000:
            front.stop()
    told = "2000000000;unseen=1999000000, 2000100000;unseen=2000050000;since=1999000000"
    assert asked.fields["update-history"] == told
    assert asked.fields["update-pattern"].endswith(";days=13;members=1"), "that of its group: few updates are known"
    assert "update-history" not in front.get("/page").fields

    behind.stop()
    behind = start_proxy(
        "--config", str(config), state=tmp_path / "behind", env={"BESTBEFORE_CLOCK": "2000160000,1"}
    )
    got = behind.get(direct)
    assert got.body == b"/page version 3\n"
    assert "update-history" not in got.fields
    behind.stop()
    shown = subprocess.run(
        [Path(sys.executable).parent / "bestbefore", "show", direct, "--state", tmp_path / "behind"],
        capture_output=True, text=True, check=False, env={**os.environ, "BESTBEFORE_CLOCK": "2000160010,1"},
    )
    assert shown.returncode == 0, shown.stderr
    assert "2033-05-18 03:33:20" in shown.stdout, "the update that it has never seen itself"


@pytest.mark.slow
def test_it_works_under_a_stock_mitmdump(
    start_origin: Start, tmp_path: Path, start_process: Callable[..., subprocess.Popen[str]],
    free_port: Callable[[], int],
) -> None:
    origin = start_origin(UPDATES)
    origin.extra = {"Cache-Control": "max-age=60"}
    bin_folder = Path(sys.executable).parent
    script = subprocess.check_output([bin_folder / "bestbefore", "addon-path"], text=True).strip()
    port = free_port()
    process = start_process(
        [bin_folder / "mitmdump", "--listen-host", "127.0.0.1", "-p", str(port), "-s", script,
         "--set", f"bestbefore_state={tmp_path / 'state'}", "--set", "bestbefore_admin=off",
         "--set", f"confdir={tmp_path / 'mitm'}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    try:
        assert process.stdout is not None
        while True:
            with suppress(ConnectionRefusedError), closing(socket.create_connection(("127.0.0.1", port), 60)) as client:
                host = origin.url[7:]
                client.sendall(f"GET {origin.url}/early HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                assert b"cache-status: bestbefore" in client.recv(65536).lower(), "it passed before the cache was ready"
                break
            assert process.poll() is None
            time.sleep(0.005)
        seen = ""
        while "bestbefore caches" not in seen:
            line = process.stdout.readline()
            assert line, seen
            seen += line
        told = []
        for _ in range(2):
            with closing(socket.create_connection(("127.0.0.1", port), 60)) as client:
                client.sendall(f"GET {origin.url}/page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                answer = b""
                while chunk := client.recv(65536):
                    answer += chunk
            assert answer.endswith(b"/page version 1\n")
            told.append(b"; hit" in answer)
        # The Host field names another server than the request line: forwarded, and not from the store.
        assert told == [False, False]
        for _ in range(2):
            with closing(socket.create_connection(("127.0.0.1", port), 60)) as client:
                host = origin.url[7:]
                client.sendall(f"GET {origin.url}/page HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                answer = b""
                while chunk := client.recv(65536):
                    answer += chunk
            told.append(b"; hit" in answer)
        assert told[2:] == [False, True]
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert "Traceback" not in out
