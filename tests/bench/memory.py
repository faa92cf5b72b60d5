"""The memory of a proxy and its store, and the bytes of an object in the store. Linux only (`/proc`).

    python tests/bench/memory.py 100000 1000000 --out docs/results/memory.md

Objects of 1 KB are put into an embedded store by the code of the proxy. A proxy on it, then two workers, then three,
answer a request for each object, plain, over eight connections. Resident memory (RSS) counts what processes share in
each of them, proportional memory (PSS) divides it among them. Then a server gets as many records as the second number
says.
"""

import argparse
import asyncio
import hashlib
import re
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import batched, islice
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import redis
from results_page import write_page

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.interface import Commit
from bestbefore.addon.store.backend.keys import label_of
from bestbefore.addon.store.cache.gains import share_of
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S

LISTEN = 21_495
BODY_BYTES = 1024
DAYS = 3
"""The contacts of each object, one a day, each of which found an update."""
AT_ONCE = 64
CONNECTIONS = 8
USES = 100
"""The requests of a connection: with new ones now and then, each worker gets some."""
BATCH = 500
LOADING_S = 300.0
STORE_MAX = 4 * 2**30
COUNTS = ("updates", "starts", "rates")
CONFIG = '[proxy]\nlisten = "127.0.0.1:{listen}"\nadmin = "off"\nstore_max = "4GiB"\n'
EXPLANATION = """\
Each object was contacted on three days, with an update each, and has a copy of 1 KB with seven fields. The *record* is
what is learnt of it, with the counts of its host; the *index* is what the server needs to find the keys and to expire
them. One record was learnt; the others are that one with another URL, which the store's own code wrote in batches. The
proxy was asked for each object once, so the memory cache of each worker is full (`hot_max`, 16 MiB unless set, if there
are more than 4,000 objects). *RSS* counts what processes share in each of them, *PSS* divides it among them; of several
processes one is the supervisor and two fork the workers. What ten million records need is an extrapolation: the bytes
of each do not depend on their number, but for the server's table of keys."""
FIELDS = Fields([
    ("Content-Type", "application/atom+xml; charset=utf-8"), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("ETag", '"5f3c-1a2b3c4d5e6f7"'), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Cache-Control", "max-age=864000"), ("Content-Length", str(BODY_BYTES)), ("Vary", "Accept-Encoding"),
])  # fmt: skip


def url(i: int) -> str:
    return f"http://www.site-{i // 200}.example.org/news/feeds/{i}.xml"


class Sizes(NamedTuple):
    """The bytes of an object in the store, with the names of its keys."""

    record: float
    """With the counts of its host."""
    copy: float
    content: float
    index: float
    """What finds the keys, and when they expire, for both."""


async def learn_all(store: Store, numbers: range) -> None:
    """Write a record of each object, and the counts of its host, as the proxy does: but only the first is learnt.

    The others are that one with another URL, committed in batches, so that a million take minutes.
    """
    first = url(numbers[0])
    for day in range(DAYS):
        contact_s = time.time() - DAY_S * (DAYS - day)
        seen = Fingerprint(etag=f'"{day}"', last_modified_s=contact_s - 3600.0)
        await store.learn(Observation(first, contact_s, "", seen))
        await store.flush()
    learnt = await store.record(first)
    assert learnt is not None
    for part in batched(numbers[1:], BATCH):
        records = [replace(learnt, url=url(i)) for i in part]
        commits = [Commit(one.url, b"", one, {label_of(one): share_of(one)}) for one in records]
        assert all(isinstance(version, bytes) for version in await store._link.backend.commit(commits))


async def filled(state: Path, number: int) -> Sizes:
    """Put objects into the store of a state folder."""
    rules = load_config(configured(state), {}).rules
    store = await open_store("embedded", clock=RealClock(), state=state, store_max=STORE_MAX)
    evaluator = ExpiryEvaluator(store, lambda: rules)
    with server_of(state) as server:
        empty, now_s = used(server), time.time()
        await learn_all(store, range(number))
        record = await store.record(url(0))
        assert record is not None
        for i in range(number):
            body = f"{i:016}".encode() * (BODY_BYTES // 16)
            ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), BODY_BYTES)
            copy = Copy(url(i), Head(200, FIELDS), ref, *(now_s,) * 4, expiry_s=now_s + 10 * DAY_S)
            if i == 0:
                verdict = await evaluator.evaluated(copy, record, rules.rule_for("example.org", "/"))
            # All records are equal, so all verdicts are.
            store.put(replace(verdict, url=copy.url, body=ref), body)
            if i % AT_ONCE == 0:  # no more than may wait
                await store.flush()
        await store.flush()
        record, copy, content = (size_of(server, f"bb1:{kind}") for kind in ("{*}:record:*", "copies:*", "bodies:*"))
        counts = sum(len_of(server, kind) * size_of(server, f"bb1:{{*}}:{kind}:*") for kind in COUNTS) / number
        index = (used(server) - empty) / number - record - counts - copy - content
    await store.close()
    return Sizes(record + counts, copy, content, index)


async def records_only(state: Path, number: int) -> tuple[float, float]:
    """Put records alone into a store; the bytes of each, and those of the server's process."""
    store = await open_store("embedded", clock=RealClock(), state=state, store_max=STORE_MAX)
    with server_of(state) as server:
        empty = used(server)
        await learn_all(store, range(number))
        (pid,) = (int(server.info("server")["process_id"]),)
        found = (used(server) - empty) / number, resident(pid).rss
    await store.close()
    return found


def server_of(state: Path) -> "redis.Redis":
    """A client of the embedded server of a state folder."""
    (socket,) = state.glob("**/*.sock")
    return redis.Redis(unix_socket_path=str(socket))


def used(server: "redis.Redis") -> int:
    return int(server.info("memory")["used_memory"])


def size_of(server: "redis.Redis", pattern: str) -> float:
    """The mean bytes of the keys of a pattern, of a thousand."""
    names = islice(server.scan_iter(pattern, count=1000), 1000)
    return mean(server.memory_usage(name, samples=0) for name in names)


def len_of(server: "redis.Redis", kind: str) -> int:
    return sum(1 for _ in server.scan_iter(f"bb1:{{*}}:{kind}:*", count=1000))


class Resident(NamedTuple):
    """The memory of a process, bytes."""

    rss: int
    pss: int


def resident(pid: int) -> Resident:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss, pss = (int(re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)[1]) for name in ("Rss", "Pss"))  # type: ignore[index]
    return Resident(1024 * rss, 1024 * pss)


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def processes_of(pid: int) -> Iterator[int]:
    """A process and those that it started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from processes_of(int(child))


async def asked(number: int) -> int:
    """Ask for each object once; return how many answers were no hits."""
    places, misses = iter(range(number)), 0

    async def client() -> None:
        nonlocal misses
        while part := list(islice(places, USES)):
            reader, writer = await asyncio.open_connection("127.0.0.1", LISTEN)
            for i in part:
                misses += not await is_hit(i, reader, writer)
            writer.close()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return misses


async def is_hit(i: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    host, path = url(i).removeprefix("http://").split("/", 1)
    writer.write(f"GET http://{host}/{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]))
    return head.startswith(b"http/1.1 200") and b"; hit" in head


async def loaded() -> None:
    """Wait until the proxy has its store, whose file the server loads first."""
    async with asyncio.timeout(LOADING_S):
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", LISTEN)
            found = await is_hit(0, reader, writer)
            writer.close()
            if found:
                return
            await asyncio.sleep(1.0)


def configured(state: Path) -> Path:
    """Write the configuration of the proxy, beside its state; return its path."""
    config = state.parent / "proxy.toml"
    config.write_text(CONFIG.format(listen=LISTEN))
    return config


async def running(state: Path, number: int, workers: int) -> dict[str, list[Resident]]:
    """The memory of proxies and server once each object was asked for, by the name of the program."""
    config = configured(state)
    own = (Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--state", state, "--config", config)
    process = await asyncio.create_subprocess_exec(*own, "--workers", str(workers), stdout=PIPE)
    try:
        assert process.stdout is not None
        while b"listens on" not in (line := await process.stdout.readline()):
            if not line:
                sys.exit("the proxy has ended before it listened")
        if number:
            await loaded()
        misses = await asked(number)
        if misses:
            print(f"{misses} of {number} answers were no hits: the store was late, so the memory is too small")
        found = defaultdict(list)
        for pid in processes_of(process.pid):
            found[name_of(pid)].append(resident(pid))
        return found
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("objects", type=int)
    parser.add_argument("records", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    with tempfile.TemporaryDirectory() as name:
        state = Path(name) / "state"
        sizes = await filled(state, options.objects)
        say(f"{options.objects} objects of {BODY_BYTES} bytes in the store, bytes each:")
        say("  ".join(f"{field} {size:.0f}" for field, size in sizes._asdict().items()) + f"  all {sum(sizes):.0f}")
        sums = []
        for n, workers in ((0, 1), (options.objects, 1), (options.objects, 2), (options.objects, 3)):
            found = await running(state, n, workers)
            say(f"\n{workers} worker{'s' * (workers > 1)}, {n} objects asked for, MB:    RSS     PSS")
            for program, each in sorted(found.items()):
                for one in each:
                    say(f"  {program:20s} {one.rss / 1e6:23.0f} {one.pss / 1e6:7.0f}")
            every = [one for each in found.values() for one in each]
            sums.append(Resident(*map(sum, zip(*every, strict=True))))
            say(f"  {'all':20s} {sums[-1].rss / 1e6:23.0f} {sums[-1].pss / 1e6:7.0f}")
        adds = sums[-1].pss - sums[-2].pss
        say(f"\nThe third worker adds {adds / 1e6:.0f} MB (PSS of all processes).")
        each, rss = await records_only(Path(name) / "records", options.records)
        say(f"\n{options.records} records alone: {each:.0f} bytes each, {rss / 1e6:.0f} MB resident")
        say(f"10000000 records, by this: {each * 1e7 / 1e9:.1f} GB")
    if options.out:
        write_page(options.out, "The memory of a proxy and its store", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    asyncio.run(main())
