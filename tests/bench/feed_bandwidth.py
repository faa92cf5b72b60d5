"""What feed readers save: `python tests/bench/feed_bandwidth.py [--record]`.

The folder of the traces is BESTBEFORE_TRACES. With --record the table also becomes docs/results/feed_bandwidth.md.
"""

import gzip
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from email.utils import formatdate
from functools import partial
from pathlib import Path

import numpy as np
from results_page import write_page

from bestbefore.addon.engine.feed_delta import Base, has_seen
from bestbefore.addon.engine.listing import Listing, read_first, read_next
from bestbefore.addon.feeds.delta import reduced
from bestbefore.addon.feeds.extract import extract
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.traces.columns.files import read_updates

PAGE = Path(__file__).parents[2] / "docs" / "results" / "feed_bandwidth.md"
ITEMS = 12
ITEM_BYTES = 560
DAYS = 180
POLLS_A_DAY = (1, 4, 24)

EXPLANATION = f"""The feeds of `postings_feeds.csv.gz` as documents of their {ITEMS} latest items of {ITEM_BYTES} \
bytes each (the means that section 4.6 of the feeds paper gives), polled at regular times through the last {DAYS} days \
of each feed, by a reader that has seen the document of the poll before. The documents are cut by the same code as in \
the proxy.

*new*: the mean number of items of a poll that the reader has not seen, at most {ITEMS}, mean of the feeds; *median*: \
that of the median feed; *paper*: the share of items that it has seen, which is what the paper counts as saved. \
*full*: MB sent if each poll gets the document; *304*: if a poll without anything new gets nothing (an entity tag of \
ours); *delta*: if the others get the new items only (`A-IM: feed`). *saved*: what deltas save of *full*, and *of \
304*; *gzip*: the same where both are compressed. Heads of messages are not counted.

The paper finds 4.3 new items of 12, and 64 percent saved, at one poll a day. Its feeds are not public. Three \
quarters of ours are written by machines, which fill a document within hours: one poll a day misses most of what they \
post, and the reader has seen little of a document. Feeds written by people post less than the paper's, and more is \
saved."""


@dataclass
class Sent:
    """Bytes of content."""

    full: int = 0
    validated: int = 0
    delta: int = 0
    full_gzip: int = 0
    validated_gzip: int = 0
    delta_gzip: int = 0

    def __iadd__(self, other: "Sent") -> "Sent":
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


class Channel:
    """A feed as documents."""

    def __init__(self, name: str, times_s: FloatArray) -> None:
        self.name = name
        self.times_s = times_s
        words = random.Random(name)
        vocabulary = ["".join(words.choices("etaoinshrdlu", k=words.randint(2, 9))) for _ in range(2000)]
        self._text = [" ".join(words.choices(vocabulary, k=120)) for _ in range(50)]

    def item(self, number: int) -> str:
        posted = formatdate(self.times_s[number], usegmt=True)
        link = f"https://www.example.org/{self.name}/{number}"
        start = f"<item><guid>{link}</guid><link>{link}</link><pubDate>{posted}</pubDate><title>Item {number}</title>"
        words = self._text[number % 50][number % 40 :]
        end = "</description></item>\n"
        return f"{start}<description>{words[: ITEM_BYTES - len(start) - len(end) - 13]}{end}"

    def document(self, n: int, built_s: float) -> bytes:
        """After the first n postings."""
        items = "".join(self.item(number) for number in range(n - 1, max(n - ITEMS, 0) - 1, -1))
        head = f"<title>{self.name}</title><lastBuildDate>{formatdate(built_s, usegmt=True)}</lastBuildDate>"
        return f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'.encode()


def polled(channel: Channel, every_s: float) -> tuple[Sent, list[int]]:
    """What is sent to the reader, and how many items are new at each poll."""
    last_s = float(channel.times_s[-1])
    polls_s = np.arange(max(float(channel.times_s[0]), last_s - DAYS * DAY_S), last_s, every_s)
    counts = np.searchsorted(channel.times_s, polls_s, side="right")
    document = channel.document(int(counts[0]), polls_s[0])
    listed = extract(document)
    assert listed is not None
    feed = read_first(Listing.of(listed, "0"), polls_s[0]).feed
    sent, new = Sent(), []
    size, size_gzip = len(document), len(gzip.compress(document))
    for poll_s, before, n in zip(polls_s[1:], counts[:-1], counts[1:], strict=True):
        new.append(min(int(n - before), ITEMS))
        if n > before:
            document = channel.document(int(n), poll_s)
            size, size_gzip = len(document), len(gzip.compress(document))
            listed = extract(document)
            assert listed is not None
            base = Base(EntityTag('"0"'), feed.serial)
            feed = read_next(feed, Listing.of(listed, ""), poll_s, ()).feed
            delta = reduced(document, partial(has_seen, feed=feed, base=base))
            assert delta is not None
            small = min(size, len(delta)), min(size_gzip, len(gzip.compress(delta)))
            sent += Sent(0, size, small[0], 0, size_gzip, small[1])
        sent += Sent(full=size, full_gzip=size_gzip)
    return sent, new


FAMILIES: dict[str, Callable[[str], bool]] = {
    "written by people (blogs, links, comments)": lambda family: family in PEOPLE,
    "dispatches of a highway patrol": lambda family: family == "chp",
    "earthquakes": lambda family: family.startswith("usgs"),
    "all": lambda _: True,
}
PEOPLE = ("blog-sw", "hn-from", "rss")


def table(channels: list[Channel]) -> str:
    lines = []
    for polls in POLLS_A_DAY:
        sent, means = Sent(), []
        for channel in channels:
            of_feed, new = polled(channel, DAY_S / polls)
            sent += of_feed
            means.append(float(np.mean(new)) if new else 0.0)
        mean = float(np.mean(means))
        lines.append(
            f"{polls:>2}/day {mean:>5.2f} {np.median(means):>7.2f} {1 - mean / ITEMS:>6.0%}"
            f" {sent.full / 1e6:>8.2f} {sent.validated / 1e6:>8.2f} {sent.delta / 1e6:>8.2f}"
            f" {1 - sent.delta / sent.full:>7.0%} {1 - sent.delta / sent.validated:>7.0%}"
            f" {1 - sent.delta_gzip / sent.full_gzip:>7.0%} {1 - sent.delta_gzip / sent.validated_gzip:>7.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    trace = Path(os.environ["BESTBEFORE_TRACES"]) / "postings_feeds.csv.gz"
    channels = [Channel(name, times_s) for name, times_s in read_updates(trace, print).times_by_object().items()]
    heading = "polls   new  median  paper     full      304    delta   saved  of 304    gzip  of 304"
    parts = [heading]
    for name, belongs in FAMILIES.items():
        family = [channel for channel in channels if belongs(channel.name.partition("/")[0])]
        parts.append(f"\n{name}: {len(family)} feeds\n{table(family)}")
    printed = "\n".join(parts)
    print(printed)
    if "--record" in sys.argv:
        write_page(PAGE, "What feed readers save", EXPLANATION, printed)


if __name__ == "__main__":
    main()
