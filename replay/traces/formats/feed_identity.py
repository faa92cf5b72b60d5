"""The identity of the feed of a stored document: the addresses, the home page and the title that it declares."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from lxml import etree

from bestbefore.addon.feeds.characters import as_utf8

LONGEST_CHARACTERS = 4096
"""The most characters of an address or title; longer ones are ignored."""
_FIRST_ITEM = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)[\s/>]", re.IGNORECASE)
_RELATIONS = ("current", "first", "self")
"""The link relations that give the address of the feed, in order of preference. In an archived or paged document
(RFC 5005) `self` is only the address of that document."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The attributes by which a document identifies its feed; empty where it does not declare them."""

    addresses: tuple[str, ...] = ()
    """The addresses of the feed, the most reliable first."""
    home: str = ""
    """The address of the home page."""
    title: str = ""


class _JsonFeed(msgspec.Struct):
    feed_url: object = None
    home_page_url: object = None
    title: object = None


def identity_of(body: bytes) -> Identity:
    """Return the identity of a feed document from the part before the first item; empty if that is not readable."""
    text = as_utf8(body)
    try:
        return _of_json(text) if text.startswith(b"{") else _of_xml(text)
    except (etree.LxmlError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return Identity()


def _of_json(text: bytes) -> Identity:
    feed = msgspec.json.decode(text, type=_JsonFeed)
    address, home, title = (_one_line(str(value or "")) for value in (feed.feed_url, feed.home_page_url, feed.title))
    return Identity((address,) if _is_absolute(address) else (), home, title)


def _of_xml(text: bytes) -> Identity:
    first = _FIRST_ITEM.search(text)
    parser = etree.XMLParser(encoding="utf-8", recover=True, resolve_entities=False, no_network=True, huge_tree=False)
    root = etree.fromstring(text[: first.start()] if first else text, parser)
    if root is None:
        return Identity()
    links: dict[str, str] = {}
    titles: list[str] = []
    for holder in (root, *(node for node in root if _local(node) == "channel")):
        for node in holder:
            name, words = _local(node), _one_line("".join(node.itertext()))
            if name == "link":
                links.setdefault(node.get("rel", "alternate"), _one_line(node.get("href") or words))
            elif name == "title":
                titles.append(words)
    addresses = (links.get(relation, "") for relation in _RELATIONS)
    return Identity(tuple(filter(_is_absolute, addresses)), links.get("alternate", ""), titles[0] if titles else "")


def _local(node: Any) -> str:
    """The lower-case name of an element without its namespace; empty for comments and the like."""
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CHARACTERS else ""


def _is_absolute(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))
