"""Reads the addresses of feeds from an OPML file, the list of subscriptions that feed readers export."""

from collections.abc import Iterator

from lxml import etree

from bestbefore.addon.feeds.characters import as_utf8
from bestbefore.addon.feeds.xml_feed import parsed_xml

FILE_BYTES = 4 << 20
"""The largest file that is read."""


def feed_addresses(content: bytes) -> list[str] | None:
    """Return the addresses of the feeds, each once and in the order of the file; None if it is not OPML.

    A file that declares entities is taken for none, since those in attributes are always resolved. As for feeds,
    nothing is fetched, and malformed XML is read as far as possible.
    """
    text = as_utf8(content[:FILE_BYTES])
    if len(content) > FILE_BYTES or b"<!ENTITY" in text:
        return None
    root = parsed_xml(text)
    if root is None or etree.QName(root).localname.lower() != "opml":
        return None
    return list(dict.fromkeys(address for outline in root.iter("{*}*") for address in _addresses(outline)))


def _addresses(outline: "etree._Element") -> Iterator[str]:
    for name, value in outline.attrib.items():
        if str(name).lower() == "xmlurl" and (address := str(value).strip()):
            # `feed:` in front of an address, or in place of its scheme, marks it as that of a feed.
            bare = address.removeprefix("feed:")
            yield f"http:{bare}" if bare != address and bare.startswith("//") else bare
