"""What the signals of origins bring: `python tests/bench/signals.py TRACES [--record]`.

TRACES is the folder of the recorded traces. With --record the tables also become docs/results/signals.md.
"""

import asyncio
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from feed_bandwidth import FAMILIES, Channel, polled
from results_page import write_page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bestbefore.addon.clock import ManualClock  # noqa: E402
from bestbefore.addon.engine.observation import Fingerprint, Observation  # noqa: E402
from bestbefore.addon.engine.signals.evidence import SELDOM_S  # noqa: E402
from bestbefore.addon.engine.signals.listed import ListedPages  # noqa: E402
from bestbefore.addon.feeds.sitemap import ListedPage, Sitemap  # noqa: E402
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator  # noqa: E402
from bestbefore.addon.proxy.signals.signals import SITEMAP, WEBSUB, Signals  # noqa: E402
from bestbefore.addon.rfc9111.copy import BodyRef, Copy  # noqa: E402
from bestbefore.addon.rfc9111.message import Fields, Head  # noqa: E402
from bestbefore.addon.rules import DomainRule, Pattern, Rules  # noqa: E402
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray  # noqa: E402
from bestbefore.policies.validation.machinery.spec import make_policy  # noqa: E402
from bestbefore.replay.traces.columns.files import read_updates  # noqa: E402
from tests.addon.store.memory_backend import open_memory_store  # noqa: E402

PAGE = ROOT / "docs" / "results" / "signals.md"
SOURCES = ("cft", "ipr", "dotgov", "moz", "aws-policy", "fema-shelters")
OF_SOURCE = 6
END_S = 20_440 * DAY_S
WARM_S, TESTED_S = 7 * DAY_S, 21 * DAY_S
REQUESTS_A_DAY = 8.0
THETAS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHOWN = (0.1, 0.5)
LIVE = {
    "max_ttl": "1d", "fallback": ["ttl", "group"], "bootstrap": "60s", "history_window": "28d", "siblings": 0.05
}  # fmt: skip
"""As where no configuration says otherwise."""
SITE = "http://site.example"
SITEMAP_POLLS_S = HOUR_S
LATE_S = 6 * HOUR_S
FALSE_NAMES = {"half false sitemap": 1, "3/4 false sitemap": 3}
"""How many pages a sitemap names without a change, for each that it names with one."""
CHANNELS = ("nothing", "honest sitemap", "sitemap 6 h late", *FALSE_NAMES, "lying sitemap", "pushes", "Update-History")
DELTA_POLLS_A_DAY = 4

EXPLANATION = f"""*Changes of pages.* Up to {OF_SOURCE} objects of each of {len(SOURCES)} recorded sources are the \
pages of one site, for {TESTED_S / DAY_S:.0f} days after {WARM_S / DAY_S:.0f} in which they are learnt; each is \
requested {REQUESTS_A_DAY:.0f} times a day at random moments. The site sends Last-Modified. The proxy's own code \
learns, evaluates `indttl`, takes signals and judges them; no sockets are involved. The sitemap is read each hour, \
or once a day while its signals are dropped, and these *polls* count as contacts. It lists each page's last change \
(*honest*), does so {LATE_S / HOUR_S:.0f} hours late, names with each change a page at random that has not changed \
(*half false*) or three (*3/4 false*), or says at each reading that all pages have just changed (*lying*). *pushes* \
are those of a WebSub hub, one at each change. With *Update-History* each answer has the times of all changes so \
far: what a proxy learns from a parent that sends it.

*contacts*, *polls* and *stale* are in percent of the requests. *equal* is the number of contacts relative to those \
that the proxy needs without any signal for the same share of stale hits (by another theta, interpolated; `-` where \
none from {THETAS[0]:g} to {THETAS[-1]:g} has that share; alpha is the same number); *itself* is that without the \
polls, for sites whose sitemap others read. *precision* and *recall* are what the proxy has counted at the end, \
*dropped* the share of signals that it has ignored.

*Bytes of feeds.* What the proxy receives from an origin that answers `A-IM: feed`, with the feeds, sizes and code \
of [feed_bandwidth](feed_bandwidth.md) at {DELTA_POLLS_A_DAY} polls a day: MB with a 304 where nothing is new, and \
with deltas in place of the other documents.

*Polls saved by WebSub.* Recorded feeds, as if each had a hub: each push that arrives is followed by a contact at \
once, and a poll by a day without contact, which finds what was lost ({DAY_S / SELDOM_S:g} a day is the most that \
prefetching makes of a feed whose pushes come; below half of them it polls as without). *Delay* is that from posting \
to contact; for polls it is that of even intervals."""


@dataclass
class Outcome:
    """The counts of one run."""

    requests: int = 0
    contacts: int = 0
    polls: int = 0
    """The contacts with the sitemap."""
    stale: int = 0
    signals: dict[str, int] = field(default_factory=dict)
    precision: float = 0.0
    recall: float = 0.0

    def share(self, number: int) -> float:
        return 100.0 * number / self.requests


class Site:
    """The pages, and a proxy's part that learns of them."""

    def __init__(self, pages: dict[str, FloatArray], channel: str, theta: float) -> None:
        self.pages = pages
        self.channel = channel
        policy: Any = make_policy("indttl", {"theta": theta, "alpha": theta, **LIVE})
        self.rule = DomainRule(Pattern.parse("*"), policy)
        self.clock = ManualClock(END_S - TESTED_S - WARM_S)
        self.found = Outcome()
        self._polled_s = -math.inf
        """When the sitemap was read."""
        rng, urls = np.random.default_rng(2), list(pages)
        named: dict[str, list[float]] = {url: [] for url in urls}
        for times_s in pages.values():
            for at_s in np.repeat(times_s, FALSE_NAMES.get(channel, 0)).tolist():
                named[urls[rng.integers(len(urls))]].append(at_s)
        self.named_s = {url: np.sort(np.append(pages[url], named[url])) for url in urls}
        """When the sitemap says that each page has changed."""

    async def run(self) -> Outcome:
        store = await open_memory_store(clock=self.clock, forget_after_s=1e12)
        self.store = store
        self.signals = Signals(self.clock, store, on_signal=self._count)
        self.evaluator = ExpiryEvaluator(store, lambda: Rules(self.rule))
        for at_s, kind, url in sorted(self._events()):
            if kind == "sitemap" and at_s < self._polled_s + self.signals.evidence(url, SITEMAP).between_polls_s:
                continue
            self.clock.advance(max(at_s - self.clock.now(), 0.0))
            await {"request": self._request, "sitemap": self._read, "push": self._push}[kind](url, at_s)
        evidence = self.signals.evidence(f"{SITE}/", WEBSUB if self.channel == "pushes" else SITEMAP)
        self.found.precision, self.found.recall = evidence.precision, evidence.recall
        await store.close()
        return self.found

    def _events(self) -> Iterator[tuple[float, str, str]]:
        start_s = self.clock.now()
        rng = np.random.default_rng(1)
        for url, times_s in self.pages.items():
            number = rng.poisson(REQUESTS_A_DAY * (END_S - start_s) / DAY_S)
            yield from ((at_s, "request", url) for at_s in rng.uniform(start_s, END_S, number).tolist())
            if self.channel == "pushes":
                yield from ((at_s, "push", url) for at_s in times_s[times_s > start_s].tolist())
        if "sitemap" in self.channel:
            polls_s = np.arange(start_s, END_S, SITEMAP_POLLS_S).tolist()
            yield from ((at_s, "sitemap", f"{SITE}/sitemap.xml") for at_s in polls_s)

    def _count(self, _: str, result: str) -> None:
        self.found.signals[result] = self.found.signals.get(result, 0) + 1

    async def _request(self, url: str, at_s: float) -> None:
        copies = (await self.store.copies(url)).copies
        times_s, is_tested = self.pages[url], at_s >= END_S - TESTED_S
        self.found.requests += is_tested
        if copies and copies[0].expiry_s is not None and copies[0].expiry_s > at_s:
            before, now = np.searchsorted(times_s, [copies[0].current_s, at_s], side="right")
            self.found.stale += is_tested and bool(now > before)
            return
        self.found.contacts += is_tested
        await self._contact(url, at_s)

    async def _contact(self, url: str, at_s: float) -> None:
        times_s = self.pages[url]
        n = int(np.searchsorted(times_s, at_s, side="right"))
        reported: dict[str, Any] = {}
        if self.channel == "Update-History":
            since_s = max(float(times_s[0]), at_s - 28 * DAY_S)
            listed_s = times_s[:n][times_s[:n] > since_s][-64:]
            reported = {"reported_s": tuple(listed_s.tolist()), "reported_since_s": since_s}
            if listed_s.size == 64:
                reported["reported_since_s"] = float(listed_s[0])
        modified_s = float(times_s[n - 1]) if n else None
        seen = Fingerprint(etag=f'"{n}"', last_modified_s=modified_s)
        learnt = await self.store.learn(Observation(url, at_s, "", seen, **reported))
        self.signals.contacted(url, learnt)
        made = Copy(url, Head(200, Fields([("ETag", f'"{n}"')])), BodyRef(str(n), 1), at_s, at_s, at_s, at_s)
        self.store.put(await self.evaluator.evaluated(made, learnt.record, self.rule), b"x")

    async def _read(self, _: str, at_s: float) -> None:
        self._polled_s = at_s
        self.found.contacts += at_s >= END_S - TESTED_S
        self.found.polls += at_s >= END_S - TESTED_S
        shown_s = at_s - (LATE_S if "late" in self.channel else 0.0)
        entries = []
        for url, times_s in self.named_s.items():
            n = int(np.searchsorted(times_s, shown_s, side="right"))
            changed_s = at_s if "lying" in self.channel else float(times_s[n - 1]) if n else 0.0
            entries.append(ListedPage(url, changed_s, changed_s))
        await self.signals.listed(f"{SITE}/sitemap.xml", Sitemap(tuple(entries)), ListedPages.of(entries), at_s)

    async def _push(self, url: str, at_s: float) -> None:
        await self.signals.announced(url, at_s, WEBSUB)


def pages_of(traces: Path) -> dict[str, FloatArray]:
    """The pages: objects with updates in the last weeks, moved by whole days so that they end together."""
    updates = read_updates(traces / "updates_scraped.csv.gz", lambda _: None)
    found: dict[str, FloatArray] = {}
    for source in SOURCES:
        number = 0
        for i, name in enumerate(updates.objects):
            times_s = updates.times_s[updates.object_ids == i] if name.startswith(f"{source}/") else np.empty(0)
            if times_s.size < 20 or number == OF_SOURCE:
                continue
            number += 1
            moved_s = times_s + DAY_S * np.floor((END_S - times_s[-1]) / DAY_S)
            found[f"{SITE}/{name}"] = moved_s
    return found


def equal(without: list[Outcome], one: Outcome, polls: int) -> float:
    """Contacts relative to those without signals at the same share of stale hits; NaN beyond what was tried.

    `polls`: how many contacts with the sitemap are not counted.
    """
    stale = np.array([other.share(other.stale) for other in without])
    contacts = np.array([other.share(other.contacts) for other in without])
    mine = one.share(one.stale)
    if not stale[0] <= mine <= stale[-1]:
        return float("nan")
    return one.share(one.contacts - polls) / float(np.exp(np.interp(mine, stale, np.log(contacts))))


def deltas(traces: Path) -> Iterator[str]:
    """The table of bytes."""
    yield f"{'feeds':42} {'304':>8} {'delta':>8}"
    updates = read_updates(traces / "postings_feeds.csv.gz", lambda _: None)
    for family, belongs in FAMILIES.items():
        whole = small = 0
        for i, name in enumerate(updates.objects):
            if belongs(name.partition("/")[0]):
                sent, _ = polled(Channel(name, updates.times_s[updates.object_ids == i]), DAY_S / DELTA_POLLS_A_DAY)
                whole, small = whole + sent.validated, small + sent.delta
        yield f"{family:42} {whole / 1e6:8.2f} {small / 1e6:8.2f}"


def pushed(times_s: FloatArray, end_s: float, received: FloatArray) -> tuple[int, float]:
    """Contacts with a feed that pushes, and the summed delay, s: one at each push, and one a day after the last one."""
    poll_s, contact_s, contacts, delay_s, waiting = SELDOM_S, float(times_s[0]), 0, 0.0, [0.0][:0]
    for at_s, is_received in zip((*times_s, end_s), (*received, True), strict=True):
        while contact_s + poll_s < at_s:
            contact_s, contacts = contact_s + poll_s, contacts + 1
            delay_s, waiting = delay_s + sum(contact_s - one for one in waiting), []
        waiting.append(float(at_s))
        if is_received:
            contact_s, contacts = float(at_s), contacts + 1
            delay_s, waiting = delay_s + sum(contact_s - one for one in waiting), []
    return contacts, delay_s


def polls_saved(traces: Path) -> Iterator[str]:
    """The table of feeds that push."""
    updates = read_updates(traces / "postings_feeds.csv.gz", lambda _: None)
    feeds = [updates.times_s[updates.object_ids == i] for i in range(len(updates.objects))]
    feeds, end_s = [np.unique(one) for one in feeds if one.size], float(updates.times_s.max())
    days, postings = sum(end_s - one[0] for one in feeds) / DAY_S, sum(one.size for one in feeds)
    yield f"{len(feeds)} feeds, {postings / days:.2f} postings a day   contacts a day  mean delay, min"
    for polls in (1, 4, 24, 96):
        gap_s = DAY_S / polls
        delay_s = sum(float(np.sum(gap_s - (one - one[0]) % gap_s)) for one in feeds)
        yield f"{f'{polls} polls a day':40} {polls:10.2f} {delay_s / postings / 60.0:16.1f}"
    for lost in (0.0, 0.1, 0.5):
        rng = np.random.default_rng(3)
        found = [pushed(one, end_s, rng.uniform(size=one.size) >= lost) for one in feeds]
        contacts, delay_s = (sum(column) for column in zip(*found, strict=True))
        yield f"{f'pushes, {lost:.0%} of them lost':40} {contacts / days:10.2f} {delay_s / postings / 60.0:16.1f}"


def main() -> None:
    traces = Path(sys.argv[1])
    pages = pages_of(traces)
    found = {
        (channel, theta): asyncio.run(Site(pages, channel, theta).run())
        for channel in CHANNELS
        for theta in (THETAS if channel == "nothing" else SHOWN)
    }
    without = [found["nothing", theta] for theta in THETAS]
    lines = [f"{len(pages)} pages, {found['nothing', 0.1].requests:,} requests, "
             f"{sum(int(np.sum(t > END_S - TESTED_S)) for t in pages.values()):,} changes", "",
             f"{'what the site sends':18} {'theta':>5} {'contacts':>8} {'polls':>5} {'stale':>6} {'equal':>6} "
             f"{'itself':>6} {'precision':>9} {'recall':>6} {'dropped':>7}"]  # fmt: skip
    for (channel, theta), one in found.items():
        if theta not in SHOWN:
            continue
        ratios = "".join(f" {ratio:6.2f}" for polls in (0, one.polls) if (ratio := equal(without, one, polls)))
        dropped, taken = one.signals.get("dropped", 0), one.signals.get("believed", 0)
        shown = f"{one.precision:9.2f} {one.recall:6.2f} {100 * dropped / max(dropped + taken, 1):6.0f}%"
        lines.append(
            f"{channel:18} {theta:5g} {one.share(one.contacts):8.1f} {one.share(one.polls):5.1f} "
            f"{one.share(one.stale):6.2f}"
            f"{ratios.replace('nan', '  -')} {shown if dropped + taken else ''}".rstrip()
        )
    lines += ["", *polls_saved(traces), "", *deltas(traces)]
    print("\n".join(lines))
    if "--record" in sys.argv:
        write_page(PAGE, "What the signals of origins bring", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    main()
