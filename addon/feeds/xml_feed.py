"""Parser of RSS 0.9x, 1.0 (RDF) and 2.0, Atom 0.3 and 1.0, by lxml, well-formed or not.

Entities are never resolved, and nothing is fetched. Malformed documents are parsed as far as libxml2 can recover.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from lxml import etree

from bestbefore.addon.feeds import hints
from bestbefore.addon.feeds.document import (
    LONGEST_LINK,
    MAX_PARSED_ITEMS,
    MOST_LINKS,
    Document,
    Hints,
    Item,
    digest,
    with_distinct_names,
)
from bestbefore.addon.feeds.times import parse_time

_KINDS = {"rss": "rss", "channel": "rss", "rdf": "rdf", "feed": "atom"}
_HOLDS_ITEMS = frozenset(("rss", "channel", "rdf"))
_TIMES = ("pubdate", "published", "issued", "created", "date", "updated", "modified")
"""The elements with the time of an item, in order of preference: of its publication, then of its last change."""
_APART = frozenset(("lastbuilddate", "pubdate", "updated", "date", "generator", "modified", "item", "entry"))
"""Children of the feed that are left out of its digest: they change without new content, or are items."""


def read(text: bytes) -> Document | None:
    """Parse a feed from UTF-8; None if it is not a feed."""
    root = parsed_xml(text)
    if root is None:
        return None
    kind = _KINDS.get(_local(root))
    if kind is None:
        return None
    nodes = list(islice(_item_nodes(root, kind), MAX_PARSED_ITEMS))
    children = [_Children(node) for node in nodes]
    items = with_distinct_names(
        [_item(node, child) for node, child in zip(nodes, children, strict=True)], [c.words for c in children]
    )
    if not items and not _is_certain(root, kind):
        return None
    return Document(kind, items, _hints(root), _links(root), _version(root, items))


def parsed_xml(text: bytes) -> Any:
    """Parse XML as far as it is well-formed, without entities; return its root, or None."""
    parser = etree.XMLParser(
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    try:
        return etree.fromstring(text, parser)
    except (etree.LxmlError, ValueError):
        return None


def _is_certain(root: Any, kind: str) -> bool:
    """Whether a document without items is certainly a feed: other documents have the same root names."""
    if kind == "atom":
        return "atom" in str(root.tag).rpartition("}")[0].lower()
    return any(_local(child) == "channel" for child in root)


def _local(node: Any) -> str:
    """Return the lower-case name without its namespace; empty for nodes that are not elements."""
    tag = node.tag
    return _local_name(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=4096)
def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def _text(node: Any) -> str:
    return "".join(node.itertext()).strip()


def _item_nodes(root: Any, kind: str) -> Iterator[Any]:
    if kind == "atom":
        yield from (node for node in root if _local(node) == "entry")
        return
    for holder in (root, *(node for node in root if _local(node) in _HOLDS_ITEMS)):
        yield from (node for node in holder if _local(node) == "item")


class _Children:
    """The children of an item: the first of each name, and its link (the alternate one, if it has several)."""

    def __init__(self, item: Any) -> None:
        self.first: dict[str, Any] = {}
        links: dict[bool, str] = {}
        for child in item:
            name = _local(child)
            self.first.setdefault(name, child)
            if name == "link" and (target := (child.get("href") or _text(child)).strip()):
                links.setdefault(child.get("rel", "alternate") == "alternate", target)
        self.link = links.get(True) or links.get(False, "")

    def text(self, name: str) -> str:
        node = self.first.get(name)
        return "" if node is None else _text(node)

    @property
    def words(self) -> str:
        return f"{self.link}\n{self.text('title')}"


def _item(node: Any, children: _Children) -> Item:
    about = next((value for key, value in node.attrib.items() if key.endswith("}about")), "").strip()
    written = etree.tostring(node, encoding="utf-8", with_tail=False)
    name = children.text("guid") or children.text("id") or about or children.link or _words_of(children)
    times = (parse_time(children.text(key)) for key in _TIMES if key in children.first)
    time_s = next((time for time in times if time is not None), None)
    return Item(name or f"item {digest(written)}", time_s, digest(written))


def _words_of(children: _Children) -> str:
    """Return a name for an item that has neither identifier nor link."""
    words = (children.text(key) for key in ("title", "description", "summary", "content", "encoded"))
    return "\n".join(words).strip()


def _feed_nodes(root: Any) -> Iterator[Any]:
    """Return the children of the feed element; of the channel for RSS."""
    for holder in (root, *(node for node in root if _local(node) == "channel")):
        yield from (node for node in holder if _local(node) and _local(node) != "channel")


def _hints(root: Any) -> Hints:
    first: dict[str, Any] = {}
    for node in _feed_nodes(root):
        first.setdefault(_local(node), node)

    def text(name: str) -> str | None:
        return _text(first[name]) if name in first else None

    def texts(name: str) -> Sequence[str]:
        return [_text(child) for child in first.get(name, ())]

    return Hints(
        least_s=max(hints.ttl_s(text("ttl")), hints.period_s(text("updateperiod"), text("updatefrequency"))),
        skip_hours=hints.skip_hours(texts("skiphours")),
        skip_days=hints.skip_days(texts("skipdays")),
    )


def _links(root: Any) -> tuple[tuple[str, str], ...]:
    links = [node for node in _feed_nodes(root) if _local(node) == "link"]
    found = [(node.get("rel", "").strip().lower(), node.get("href", "").strip()) for node in links]
    return tuple(link for link in found if link[0] in ("hub", "self") and 0 < len(link[1]) <= LONGEST_LINK)[:MOST_LINKS]


def _version(root: Any, items: tuple[Item, ...]) -> int:
    """Return a digest of the feed's content, without the time of its generation."""
    said = [
        etree.tostring(node, encoding="utf-8", with_tail=False)
        for node in _feed_nodes(root)
        if _local(node) not in _APART
    ]
    return digest(repr((said, [(item.name, item.content) for item in items])))
