"""Entity tags that the proxy adds to feeds without a validator, so that clients can make conditional requests.

They are weak: documents that differ only in when they were generated have the same tag. They are never sent to the
origin.
"""

from bestbefore.addon.feeds.document import Document
from bestbefore.addon.rfc9111.fields.entity_tags import parse_entity_tag, parse_entity_tags
from bestbefore.addon.rfc9111.message import Fields

_PREFIX = '"bestbefore-'


def tag_for(document: Document) -> str:
    """Return the opaque part of the tag of a document, with quotes."""
    return f'{_PREFIX}{document.version:016x}"'


def without_own_tags(fields: Fields) -> Fields:
    """Return the fields of a request without the proxy's own entity tags.

    A condition with no other tags is removed, and with it the field that it overrides: If-Modified-Since with
    If-None-Match (RFC 9110 13.1.3), Range with an If-Range that fails (RFC 9110 13.1.5).
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
