"""Clients that load a proxy with requests for what it has stored: `wrk`, and one within an intercepted tunnel."""

import re
import socket
import ssl
import struct
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from hpack import Encoder

WINDOW = 1 << 30
WIDEN = struct.pack("!I", WINDOW)


def wrk(
    port: int, url: str, *, connections: int, seconds: float, folder: Path, urls: int = 1
) -> tuple[float, float, float]:
    """Requests a second, and the milliseconds that half of them and 99 of 100 took at most."""
    script = folder / "ask.lua"
    host = url.split("/", 3)[2]
    script.write_text(f'n = 0\nwrk.path = "{url}"\nwrk.headers["Host"] = "{host}"\n' + (
        f'request = function() n = n + 1; return wrk.format(nil, "{url}" .. n % {urls}) end\n' if urls > 1 else ""
    ))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s", script,
               f"http://127.0.0.1:{port}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(said)
    per_s = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    times = [float(t) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
             for t, unit in re.findall(r"(?:50|99)%\s+([\d.]+)(us|ms|s)", said)]
    return per_s, times[0], times[1]


def tunnelled(port: int, host: str, *, kb: int, seconds: float, http2: bool) -> tuple[float, float, float]:
    """The same for one client that asks for one URL, of so many KB, again and again within one intercepted tunnel."""
    with tunnel(port, host, http2=http2) as tls:
        ask = partial(Http2Client(host, tls, kb).ask, f"/{kb}/page") if http2 else partial(ask_http1, host, tls, kb)
        took, until = [], time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            ask()
            took.append(time.perf_counter() - began)
    took.sort()
    return len(took) / seconds, 1e3 * took[len(took) // 2], 1e3 * took[len(took) * 99 // 100]


def tunnel(port: int, host: str, *, http2: bool = False, is_direct: bool = False) -> ssl.SSLSocket:
    """TLS within a tunnel to a host, or without a tunnel if `is_direct`; the certificate is not verified."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # A stock mitmproxy offers the origin what the client offers, and this origin may not have HTTP/2.
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    plain = socket.create_connection(("127.0.0.1", port), timeout=120)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not is_direct:
        plain.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        opened = b""
        while b"\r\n\r\n" not in opened:
            opened += plain.recv(4096) or sys.exit("the proxy opened no tunnel")
    return context.wrap_socket(plain, server_hostname="localhost")


def ask_http1(host: str, tls: ssl.SSLSocket, kb: int) -> None:
    """One request over HTTP/1.1."""
    tls.sendall(f"GET /{kb}/page HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    got = b""
    while (end := got.find(b"\r\n\r\n")) < 0 or len(got) < end + 4 + kb * 1024:
        if not (part := tls.recv(65536)):
            raise RuntimeError(f"the proxy answered {got[:200]!r}")
        got += part
    if b" 200 " not in got[:16]:
        raise RuntimeError(f"the proxy answered {got[:200]!r}")


class Http2Client:
    """One request after the other over HTTP/2; the frames for a path that is asked for again are made once."""

    def __init__(self, host: str, tls: ssl.SSLSocket, kb: int) -> None:
        """`kb`: the size of all contents."""
        self._host, self._tls, self._size = host, tls, kb * 1024
        self._stream, self._got, self._taken = -1, b"", 0
        self._encoder, self._path, self._repeated = Encoder(), "", b""
        settings = struct.pack("!HI", 4, WINDOW)  # SETTINGS_INITIAL_WINDOW_SIZE
        tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, settings) + frame(8, 0, 0, WIDEN))

    def _block(self, path: str) -> bytes:
        if path == self._path and self._repeated:
            return self._repeated
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", self._host), (":path", path)]
        block: bytes = self._encoder.encode(fields)
        # The first is put into the table, and the second refers to it, which the same block does again.
        self._path, self._repeated = path, block if path == self._path else b""
        return block

    def ask(self, path: str) -> None:
        """One request."""
        self._stream += 2
        self._tls.sendall(frame(1, 5, self._stream, self._block(path)))
        size, is_over = 0, False
        while not is_over:
            kind, flags, content = self._read_frame()
            if kind == 4 and not flags:
                self._tls.sendall(frame(4, 1, 0, b""))
            elif kind in (3, 7):
                raise RuntimeError(f"the proxy ended it: {content!r}")
            size += len(content) if kind == 0 else 0
            is_over = kind in (0, 1) and bool(flags & 1)
        if size != self._size:
            raise RuntimeError(f"the proxy answered {size} bytes")
        self._taken += size
        if self._taken > WINDOW // 2:
            self._tls.sendall(frame(8, 0, 0, struct.pack("!I", self._taken)))
            self._taken = 0

    def _read_frame(self) -> tuple[int, int, bytes]:
        while len(self._got) < 9 or len(self._got) < 9 + int.from_bytes(self._got[:3]):
            if not (part := self._tls.recv(65536)):
                raise RuntimeError("the proxy closed the connection")
            self._got += part
        end = 9 + int.from_bytes(self._got[:3])
        kind, flags, content, self._got = self._got[3], self._got[4], self._got[9:end], self._got[end:]
        return kind, flags, content


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack("!I", len(content))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + content
