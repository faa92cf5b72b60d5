"""What the store costs: `python tests/bench/store.py`. Figures are printed, and asserted nowhere."""

import asyncio
import hashlib
import tempfile
import time
from pathlib import Path

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store

N = 5_000


def told(what: str, began: float, n: int = N) -> None:
    print(f"{what:58s} {(time.perf_counter() - began) / n * 1e6:8.2f} us")


def copies(now_s: float) -> list[tuple[Copy, bytes]]:
    fields = [("Content-Type", "text/html"), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("ETag", '"x"')]
    head = Head(200, Fields(fields))
    made = []
    for i in range(N):
        body = f"{i:010}".encode() * 400
        ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
        url = f"http://www.example{i % 50}.org/{i}"
        made.append((Copy(url, head, ref, now_s, now_s, now_s, now_s, expiry_s=now_s + 600), body))
    return made


async def contacts(store: Store, now_s: float) -> None:
    for name, urls in (("new objects", [f"http://h{i % 9}.example{i % 50}.org/{i}" for i in range(N)]),
                       ("one object each 10th time", [f"http://www.example.org/{i % 10}" for i in range(N)])):
        learnt = [Observation(url, now_s + i * 0.001, "", Fingerprint(body=str(i))) for i, url in enumerate(urls)]
        began = time.perf_counter()
        for observation in learnt:
            await store.learn(observation)
        told(f"learn, {name}, one after the other", began)
        began = time.perf_counter()
        await store.flush()
        told(f"  the rest of the write behind, {name}", began)
        again = [Observation(o.url, o.t_s + 100, "", Fingerprint(body=o.fingerprint.body + "+")) for o in learnt]
        began = time.perf_counter()
        for start in range(0, N, 16):
            await asyncio.gather(*(store.learn(observation) for observation in again[start : start + 16]))
        told(f"learn, {name}, 16 at a time", began)
        await store.flush()


async def one_contact(store: Store, now_s: float) -> None:
    """A contact with its write, nothing else going on: what it costs in all."""
    began = time.perf_counter()
    for i in range(1000):
        url = f"http://www.example.org/{i % 100}"
        await store.learn(Observation(url, now_s + 1000 + i, "", Fingerprint(body=str(i))))
        await store.flush()
    told("learn and write, one at a time", began, 1000)


async def main() -> None:
    clock = RealClock()
    with tempfile.TemporaryDirectory() as state:
        began = time.perf_counter()
        store = await open_store("embedded", clock=clock, state=Path(state))
        told("open", began, 1)
        now_s = clock.now()
        made = copies(now_s)
        began = time.perf_counter()
        for copy, body in made:
            store.put(copy, body)
        told("put, 4 KB", began)
        began = time.perf_counter()
        await store.flush()
        told("  its write", began)
        hot = store.hot
        url = made[-1][0].url
        began = time.perf_counter()
        for _ in range(200_000):
            hot(url)
        told("hot, one object", began, 200_000)
        began = time.perf_counter()
        for copy, _ in made:
            hot(copy.url)
        told("hot, each object", began)
        store._copies.forget_all()
        began = time.perf_counter()
        for copy, _ in made:
            await store.copies(copy.url)
            await store.body(copy)
        told("copies and body from the server", began)
        await contacts(store, now_s)
        await one_contact(store, now_s)
        began = time.perf_counter()
        for _ in range(10_000):
            await store.group("example.org", lambda host: True, "example.org")
        told("group, known", began, 10_000)
        store.regroup()
        began = time.perf_counter()
        await store.group("everything", lambda host: True)
        told("group of 450 hosts, read", began, 1)
        began = time.perf_counter()
        await store.close()
        told("close", began, 1)


asyncio.run(main())
