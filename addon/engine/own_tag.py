"""Entity tags of ours, for feeds whose origins send no validator: clients can ask whether there is anything new.

They are weak: two documents that say the same have the same, whenever they were made. The origin never sees them.
"""

from bestbefore.addon.feeds.document import Document
from bestbefore.addon.rfc9111.fields.entity_tags import parse_entity_tag, parse_entity_tags
from bestbefore.addon.rfc9111.message import Fields

_PREFIX = '"bestbefore-'


def tag_for(document: Document) -> str:
    """The opaque part, with its quotes."""
    return f'{_PREFIX}{document.version:016x}"'


def without_own_tags(fields: Fields) -> Fields:
    """Return the fields of a request as the origin may see them.

    A condition that names only tags of ours is dropped, and with it the one that it overrides: If-Modified-Since by
    If-None-Match (RFC 9110 13.1.3), Range by an If-Range that fails (RFC 9110 13.1.5).
    """
    asked = fields.get("if-none-match")
    if asked is not None and _PREFIX in asked:
        others = [str(tag) for tag in parse_entity_tags(asked) if not tag.opaque.startswith(_PREFIX)]
        fields = fields.without({"if-none-match"} if others else {"if-none-match", "if-modified-since"})
        fields = fields.added(("If-None-Match", ", ".join(others))) if others else fields
    tag = parse_entity_tag(fields.get("if-range") or "")
    if tag is not None and tag.opaque.startswith(_PREFIX):
        fields = fields.without({"if-range", "range"})
    return fields
