"""What a hit costs beside the floor, a lean mitmproxy that answers from an addon: `python tests/bench/hit.py [ROUNDS]`.

Both run at once and are loaded in turn, so that the ratio holds on a noisy machine. Loopback only.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from load import requests_per_s

SIZE = 10 * 1024
BARE_PORT, OUR_PORT = 18471, 18472


class Constant(BaseHTTPRequestHandler):
    """The origin: asked once."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with content that is fresh for an hour."""
        self.send_response(200)
        for name, value in {"Content-Length": str(SIZE), "ETag": '"1"', "Cache-Control": "max-age=3600"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"x" * SIZE)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


async def compare(url: str, rounds: int) -> None:
    """Print the requests a second of both in each round, and the ratio of the times that a request takes."""
    ratios = []
    for number in range(1, rounds + 1):
        bare = await requests_per_s(BARE_PORT, url)
        ours = await requests_per_s(OUR_PORT, url)
        ratios.append(bare / ours)
        print(f"round {number}: bare {bare:.0f}/s, bestbefore {ours:.0f}/s, time ratio {ratios[-1]:.2f}")
    print(f"time of a hit over the bare proxy's: median {statistics.median(ratios):.2f} of {rounds} rounds")


def main() -> None:
    """Start all, measure, stop all."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    origin = ThreadingHTTPServer(("127.0.0.1", 0), Constant)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    folder = Path(__file__).parent
    with tempfile.TemporaryDirectory() as state:
        bare = subprocess.Popen(
            [sys.executable, folder / "bare_proxy.py", str(BARE_PORT), str(SIZE)], stdout=subprocess.PIPE
        )
        ours = subprocess.Popen(
            [Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--state", state, "--admin", "off",
             "--listen", f"127.0.0.1:{OUR_PORT}"],
            stdout=subprocess.PIPE,
        )
        try:
            for process in (bare, ours):
                assert process.stdout is not None
                process.stdout.readline()
            asyncio.run(compare(f"http://127.0.0.1:{origin.server_port}/", rounds))
        finally:
            for process in (bare, ours):
                process.terminate()
                process.wait()
            origin.shutdown()


if __name__ == "__main__":
    main()
