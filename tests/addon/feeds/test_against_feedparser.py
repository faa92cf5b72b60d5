"""Item by item with feedparser, the reader that most programs use, on generated and mangled feeds."""

import calendar
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

import feedparser
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds.extract import extract

QUICK = settings(max_examples=40, derandomize=True, deadline=None)

KINDS = ("rss 0.91", "rss 2.0", "rdf", "atom 0.3", "atom 1.0")
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Zs", "Zl", "Zp")), min_size=1, max_size=12
)


@dataclass(frozen=True)
class Entry:
    """An item to be written."""

    number: int
    title: str
    time_s: int | None
    form: int
    """How the time is written."""


ENTRIES = st.lists(
    st.builds(
        Entry,
        st.integers(0, 10**6),
        WORDS,
        st.one_of(st.none(), st.integers(631_152_000, 4_000_000_000)),
        st.integers(0, 2),
    ),
    max_size=8,
    unique_by=lambda entry: entry.number,
)


def written_time(entry: Entry, kind: str) -> str:
    if entry.time_s is None:
        return ""
    moment = datetime.fromtimestamp(entry.time_s, UTC)
    if kind.startswith("rss"):
        forms = format_datetime(moment), format_datetime(moment, usegmt=True), f"{moment:%d %b %Y %H:%M:%S} GMT"
        return f"<pubDate>{forms[entry.form]}</pubDate>"
    forms = f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%dT%H:%M:%S+00:00}", f"{moment:%Y-%m-%dT%H:%M:%S.5Z}"
    name = {"rdf": "dc:date", "atom 0.3": "issued", "atom 1.0": "published"}[kind]
    return f"<{name}>{forms[entry.form]}</{name}>"


def written_item(entry: Entry, kind: str) -> str:
    title, link, time = escape(entry.title), f"http://feed.test/{entry.number}", written_time(entry, kind)
    match kind:
        case "rss 0.91" | "rss 2.0":
            guid = f"<guid>{link}</guid>" if kind == "rss 2.0" else ""
            return f"<item><title>{title}</title><link>{link}</link>{guid}{time}</item>"
        case "rdf":
            return f'<item rdf:about="{link}"><title>{title}</title><link>{link}</link>{time}</item>'
        case _:
            return f'<entry><id>{link}</id><title>{title}</title><link href="{link}"/>{time}</entry>'


def written(entries: list[Entry], kind: str) -> str:
    items = "\n".join(written_item(entry, kind) for entry in entries)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    match kind:
        case "rss 0.91" | "rss 2.0":
            return f'{head}<rss version="{kind[4:]}"><channel><title>t</title>{items}</channel></rss>'
        case "rdf":
            return (
                f'{head}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
                'xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f'<channel rdf:about="http://feed.test/"><title>t</title></channel>{items}</rdf:RDF>'
            )
        case _:
            space = "http://www.w3.org/2005/Atom" if kind == "atom 1.0" else "http://purl.org/atom/ns#"
            return f'{head}<feed version="0.3" xmlns="{space}"><title>t</title>{items}</feed>'


def ours(body: bytes) -> Mapping[str, float | None]:
    document = extract(body)
    return {} if document is None else {item.name: item.time_s for item in document.items}


def theirs(body: bytes) -> Mapping[str, float | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entries = feedparser.parse(body).entries
    found = {}
    for entry in entries:
        parsed = entry.get("published_parsed") or entry.get("updated_parsed")
        found[entry.get("id") or entry.get("link")] = None if parsed is None else float(calendar.timegm(parsed))
    return found


@QUICK
@given(ENTRIES, st.sampled_from(KINDS))
def test_generated_feeds_have_the_same_items_and_times(entries: list[Entry], kind: str) -> None:
    body = written(entries, kind).encode()
    assert ours(body) == theirs(body) == {
        f"http://feed.test/{entry.number}": None if entry.time_s is None else float(entry.time_s) for entry in entries
    }


MANGLED = {
    "an entity of HTML": lambda text, at: text.replace("<title>", "<title>&nbsp;&eacute;", at % 3 + 1),
    "a bare ampersand": lambda text, at: text.replace("<title>", "<title>a & b &", at % 3 + 1),
    "a control character": lambda text, at: text.replace("<title>", "<title>\x0b", at % 3 + 1),
    "an undeclared prefix": lambda text, at: text.replace("<title>", "<media:x/><title>", at % 3 + 1),
    "space before the declaration": lambda text, at: "\n  " * (at % 3 + 1) + text,
    "an end missing": lambda text, at: text[: text.rfind("</")],
    "another encoding declared": lambda text, at: text.replace("utf-8", "us-ascii"),
}


@QUICK
@given(ENTRIES, st.sampled_from(KINDS), st.sampled_from(sorted(MANGLED)), st.integers(0, 2))
def test_mangled_feeds_have_the_same_items_and_times(entries: list[Entry], kind: str, how: str, at: int) -> None:
    body = MANGLED[how](written(entries, kind), at).encode()
    assert ours(body) == theirs(body)


@QUICK
@given(ENTRIES, st.sampled_from(KINDS), st.floats(0.2, 1))
def test_what_is_complete_of_a_feed_cut_short_is_there(entries: list[Entry], kind: str, share: float) -> None:
    text = written(entries, kind)
    body = text[: int(len(text) * share)].encode()
    end = b"</entry>" if kind.startswith("atom") else b"</item>"
    complete = body.count(end)
    found, expected = ours(body), list(theirs(written(entries, kind).encode()).items())
    assert list(found.items())[:complete] == expected[:complete]
