"""Link fields (RFC 8288), as far as a hub is found by them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urljoin

from bestbefore.addon.rfc9111.message import Fields, Target

_LINK = re.compile(r"""<([^<>"\s]{1,2048})>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"[^"\\]{0,256}"|[^\s",;]{0,256}))?)*)""")
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))', re.IGNORECASE)
_LONGEST_FIELD = 8192


MOST_HUBS = 4
"""How many hubs of an object are known: those named first."""


class DeclaredHubs(NamedTuple):
    """The WebSub hubs that an object declares, and the topic by which they know the object (WebSub 4)."""

    hubs: tuple[str, ...]
    """In the order of the declaration, each once; one at least."""
    topic: str


def links_of(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield relation and target of each link in the Link fields, relations in lower case."""
    value = (fields.get("link") or "")[:_LONGEST_FIELD]
    for target, parameters in _LINK.findall(value):
        found = _REL.search(parameters)
        for relation in ((found[1] or found[2]) if found else "").lower().split():
            yield relation, target


def declared_hubs(url: str, fields: Fields, in_feed: Iterable[tuple[str, str]] = ()) -> DeclaredHubs | None:
    """Return the hubs and the topic that a response declares; None unless both are declared.

    Link fields come first, then links in a feed; hubs are those of one of these. The topic must be of the object's own
    host: another would subscribe to something that the object is not.
    """
    of_fields, of_feed = list(links_of(fields)), list(in_feed)
    named = [[target for relation, target in links if relation == "hub"] for links in (of_fields, of_feed)]
    topics = [target for relation, target in (*of_fields, *of_feed) if relation == "self"]
    try:
        topic, own = Target.parse(urljoin(url, topics[0])), Target.parse(url)
    except (IndexError, ValueError):
        return None
    if topic.host != own.host:
        return None
    hubs = dict.fromkeys(found for target in named[0] or named[1] if (found := _absolute(url, target)))
    return DeclaredHubs(tuple(hubs)[:MOST_HUBS], topic.url) if hubs else None


def _absolute(url: str, reference: str) -> str | None:
    """Resolve a reference in an object; None if that is no URL of HTTP."""
    try:
        return Target.parse(urljoin(url, reference)).url
    except ValueError:
        return None
