"""A process that uses the embedded store under load until it is told to stop or killed: `store_writer.py STATE`.

It prints a line for each observation that was learnt: the URL and its time. On end of its input it stops cleanly.
"""

import asyncio
import hashlib
import sys
from pathlib import Path

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.opening import open_store


async def main(state: Path) -> None:
    clock = RealClock()
    store = await open_store("embedded", clock=clock, state=state)
    stop = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print("open", flush=True)
    n = 0
    while not stop.done():
        now_s = clock.now()
        url = f"http://www.example{n % 7}.org/{int(now_s * 10)}"
        await store.learn(Observation(url, now_s, "", Fingerprint(body=str(n))))
        print(url, repr(now_s), flush=True)
        if n % 10 == 0:
            body = hashlib.sha256(str(n).encode()).digest() * (4 if n % 100 else 3000)
            ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
            head = Head(200, Fields([("Cache-Control", "max-age=60")]))
            store.put(Copy(url, head, ref, now_s, now_s, now_s, now_s), body)
        n += 1
        await asyncio.sleep(0.002)
    await store.close()


asyncio.run(main(Path(sys.argv[1])))
