"""Link fields (RFC 8288), as far as a hub is found by them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urljoin

from bestbefore.addon.rfc9111.message import Fields, Target

_LINK = re.compile(r"""<([^<>"\s]{1,2048})>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"[^"\\]{0,256}"|[^\s",;]{0,256}))?)*)""")
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))', re.IGNORECASE)
_LONGEST_FIELD = 8192


class DeclaredHub(NamedTuple):
    """A WebSub hub that an object declares, and the topic by which the hub knows the object (WebSub 4)."""

    hub: str
    topic: str


def links_of(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield relation and target of each link in the Link fields, relations in lower case."""
    value = (fields.get("link") or "")[:_LONGEST_FIELD]
    for target, parameters in _LINK.findall(value):
        found = _REL.search(parameters)
        for relation in ((found[1] or found[2]) if found else "").lower().split():
            yield relation, target


def declared_hub(url: str, fields: Fields, in_feed: Iterable[tuple[str, str]] = ()) -> DeclaredHub | None:
    """Return the hub and topic that a response declares; None unless both are declared.

    Link fields come first, then links in a feed. The topic must be of the object's own host: another would subscribe to
    something that the object is not.
    """
    links: dict[str, str] = {}
    for relation, target in (*links_of(fields), *in_feed):
        if relation in ("hub", "self"):
            links.setdefault(relation, target)
    if "hub" not in links or "self" not in links:
        return None
    try:
        hub, topic = (Target.parse(urljoin(url, links[relation])) for relation in ("hub", "self"))
        own = Target.parse(url)
    except ValueError:
        return None
    if topic.host != own.host:
        return None
    return DeclaredHub(hub.url, topic.url)
