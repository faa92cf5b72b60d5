"""Puts processes, recorder, judge and campaigns together: each way through a proxy after the other."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import certificates
from campaign import ROUND, Campaign, Plan
from certificates import Certificates
from judge import Finding, Judge
from processes import ProxyProcess
from recording import Recorder
from requests_h1 import Place
from stock import StockOrigin

WAYS = ("plain", "tunnel", "h2", "parent", "reverse")


class Session:
    """Runs campaigns; what is made for them ends with them."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        clients: int,
        mutated_share: float,
        origin: str = "ours",
        round_cases: int = ROUND,
    ) -> None:
        """`origin`: ours, or a stock server."""
        self._folder, self._seed, self._clients, self._share = folder, seed, clients, mutated_share
        self._origin, self._round_cases = origin, round_cases
        self._stock: list[StockOrigin] = []
        self._stopped = False

    async def run(
        self, ways: Sequence[str], requests: int, *, only: int | None = None, first_case: int = 1
    ) -> list[Finding]:
        findings: list[Finding] = []
        for way in ways:
            if self._stopped:
                break
            findings += await self._way(way, requests // len(ways), only, first_case)
        return findings

    async def _way(self, way: str, requests: int, only: int | None, first_case: int) -> list[Finding]:
        judge = Judge(parent=way == "parent")
        judge.found = lambda finding: print(f"{way}: {finding}", flush=True)
        secure = way in ("tunnel", "h2")
        tls = Certificates(self._folder / "authority") if secure else None
        recorder, port, other = await self._listening(judge, way, tls)
        judge.only_authority = f"127.0.0.1:{port}".encode() if way == "reverse" else b""
        # A hostile origin that says nothing more holds up a round for that long.
        config = '[proxy]\nread_timeout = "15s"\n'
        if way == "parent":
            config += f'upstream = "http://127.0.0.1:{port}"\n'
        options = ("--mode", f"reverse:http://127.0.0.1:{port}") if way == "reverse" else ()
        proxy = await asyncio.to_thread(
            ProxyProcess, self._folder / way, *options, config=config, env=tls.env if tls is not None else {}
        )
        try:
            host = "localhost" if secure else "127.0.0.1"
            authority = f"{host}:{proxy.port if way == 'reverse' else port}"
            place = Place(authority, f"{host}:{other}", absolute=way in ("plain", "parent"))
            client_tls = certificates.client(way) if secure else None
            fixed = way in ("parent", "reverse") or self._stock
            # About half of the way through: a case has five requests.
            hostile_from = first_case + requests // 10 if fixed else None
            plan = Plan(
                *(way, self._seed, requests, proxy.port, self._clients, self._share),
                *(hostile_from, first_case, only, self._round_cases),
            )

            async def hostile() -> Place:
                if not isinstance(recorder, Recorder):
                    return place
                new_port = port if fixed else await recorder.listen(tls.server if tls is not None else None)
                recorder.hostile.add(new_port)
                return place if fixed else replace(place, authority=f"{host}:{new_port}")

            campaign = Campaign(plan, recorder, judge, place, hostile, client_tls, alive=lambda: proxy.is_up)
            if only is not None:
                print(campaign.script(only).writes, file=sys.stderr)
            for stop in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(stop, self._stop, campaign)
            await campaign.run()
        finally:
            await asyncio.to_thread(proxy.stop)
        judge.settle(recorder)
        for origin in self._stock or [recorder]:
            origin.close()
        for line in proxy.faults[:20]:
            print(f"{way}: the proxy said: {line.rstrip()}", file=sys.stderr)
        print(f"{way}: statuses {dict(judge.statuses.most_common())}", file=sys.stderr)
        print(f"{way}: notes {dict(judge.notes.most_common())}", file=sys.stderr)
        return judge.findings

    def _stop(self, campaign: Campaign) -> None:
        """End after the round that is under way, and tell what was found until then."""
        campaign.stopped = self._stopped = True

    async def _listening(
        self, judge: Judge, way: str, tls: Certificates | None
    ) -> tuple[Recorder | StockOrigin, int, int]:
        """The origin, its port, and the port of another."""
        if self._origin != "ours":
            stock, other = self._stock = [
                StockOrigin(self._origin, self._folder / f"{self._origin}-{way}-{i}", tls) for i in range(2)
            ]
            return stock, stock.port, other.port
        recorder = Recorder(self._seed, self._share, judge.at_the_origin)
        port, other_port = [await recorder.listen(tls.server if tls is not None else None) for _ in range(2)]
        return recorder, port, other_port
