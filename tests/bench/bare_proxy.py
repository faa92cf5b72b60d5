"""The floor for a hit: a lean mitmproxy whose addon answers every request in its `request` hook from memory.

Without SIZE, the floor for a miss: it has no such addon, and forwards. SIZE in bytes; with `path`, that is the first
segment of each path, in KB.

`python tests/bench/bare_proxy.py PORT [SIZE]` prints `listening` when it is ready and serves until it is stopped.
"""

import asyncio
import signal
import sys
import tempfile

import mitmproxy.http
from mitmproxy import options
from mitmproxy.addons import core, disable_h2c, errorcheck, next_layer, proxyserver, tlsconfig
from mitmproxy.master import Master


class Constant:
    """Answers each request with the same response."""

    def __init__(self, size: int | None) -> None:
        """`size`: None is that of the path."""
        self._body = None if size is None else b"x" * size

    def request(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook."""
        body = self._body if self._body is not None else b"x" * (1024 * int(flow.request.path.split("/")[1]))
        headers = mitmproxy.http.Headers(
            (
                (b"Date", b"Fri, 20 Nov 2026 12:00:00 GMT"),
                (b"Content-Type", b"text/plain"),
                (b"Content-Length", str(len(body)).encode()),
                (b"ETag", b'"1"'),
                (b"Cache-Control", b"max-age=3600"),
                (b"Age", b"1"),
            )
        )
        flow.response = mitmproxy.http.Response(b"HTTP/1.1", 200, b"OK", headers, body, None, 0.0, 0.0)


async def serve(port: int, answers: Constant | None) -> None:
    """Run until SIGTERM."""
    settings = options.Options(listen_host="127.0.0.1", listen_port=port, confdir=tempfile.mkdtemp())
    master = Master(settings)
    master.addons.add(
        core.Core(),
        proxyserver.Proxyserver(),
        next_layer.NextLayer(),
        tlsconfig.TlsConfig(),
        disable_h2c.DisableH2C(),
        errorcheck.ErrorCheck(),
        *([] if answers is None else [answers]),
    )
    settings.update(connection_strategy="lazy", upstream_cert=False, ssl_insecure=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, master.shutdown)
    asyncio.get_running_loop().call_later(0.5, lambda: print("listening", flush=True))
    await master.run()


if __name__ == "__main__":
    port, *size = sys.argv[1:]
    asyncio.run(serve(int(port), Constant(None if size == ["path"] else int(size[0])) if size else None))
