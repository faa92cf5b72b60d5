"""A client for benchmarks: keep-alive connections to a proxy on loopback that ask for one URL as fast as it answers.

Run as a program it prints requests per second: `python tests/bench/load.py PORT URL [CONNECTIONS] [SECONDS]`.
"""

import asyncio
import sys
import time


async def _ask(port: int, message: bytes, until: float) -> int:
    """Ask over one connection until the time is over; returns the number of complete answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    done = 0
    while time.perf_counter() < until:
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        if status != b"200":
            raise RuntimeError(f"the proxy answered {head.splitlines()[0]!r}")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        done += 1
    writer.close()
    return done


async def requests_per_s(port: int, url: str, *, connections: int = 16, seconds: float = 3.0) -> float:
    """How many requests a second the proxy on this port answers."""
    host = url.split("/", 3)[2]
    message = f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    started = time.perf_counter()
    counts = await asyncio.gather(*(_ask(port, message, started + seconds) for _ in range(connections)))
    return sum(counts) / (time.perf_counter() - started)


if __name__ == "__main__":
    port, url = int(sys.argv[1]), sys.argv[2]
    connections = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 3.0
    print(f"{asyncio.run(requests_per_s(port, url, connections=connections, seconds=seconds)):.0f}")
