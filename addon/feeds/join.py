"""Joins a delta of a feed (RFC 3229 with the manipulation `feed`) with the document on which it is based.

The inverse of `delta`: the delta's document, with the items of the base that it does not list after its own. Refuses
whatever could come out otherwise than the origin's document: there is a full document to be had instead.
"""

from xml.parsers import expat

from bestbefore.addon.feeds.delta import ItemSpan, item_spans
from bestbefore.addon.feeds.extract import extract

_SPACE = b" \t\r\n"


def joined(base: bytes, delta: bytes) -> bytes | None:
    """Return the whole document; None if the two do not certainly belong together, or the result would not be sound.

    It has as many items as the longer of the two: a feed lists its latest. Both must be well-formed RSS or Atom in
    UTF-8, without document type, and the root of the delta must say of itself all that the root of the base does.
    """
    if not (_is_utf8(base) and _is_utf8(delta)):
        return None
    old, new = extract(base), extract(delta)
    if old is None or new is None or old.kind != new.kind or old.kind not in ("rss", "atom"):
        return None
    old_spans, new_spans = item_spans(base, old.kind), item_spans(delta, new.kind)
    if old_spans is None or new_spans is None:
        return None
    if (len(old_spans), len(new_spans)) != (len(old.items), len(new.items)):
        return None
    if not new.items or not _root_attributes(base).items() <= _root_attributes(delta).items():
        return None
    listed = {item.name for item in new.items}
    kept = [(item, span) for item, span in zip(old.items, old_spans, strict=True) if item.name not in listed]
    kept = kept[: max(len(old.items), len(new.items)) - len(new.items)]
    at = new_spans[-1].end
    whole = b"".join((delta[:at], *(b"\n" + _text(base, span) for _, span in kept), delta[at:]))
    expected = [*(item.name for item in new.items), *(item.name for item, _ in kept)]
    result = extract(whole) if _is_sound(whole) else None
    return whole if result is not None and [item.name for item in result.items] == expected else None


def _text(document: bytes, span: ItemSpan) -> bytes:
    return document[span.start : span.end].strip(_SPACE)


def _is_utf8(document: bytes) -> bool:
    try:
        document.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _root_attributes(document: bytes) -> dict[str, str]:
    """Return the attributes of the root: its namespaces, xml:base and the like, on which items may depend."""
    found: list[dict[str, str]] = []
    parser = expat.ParserCreate()

    def on_start(_: str, attributes: dict[str, str]) -> None:
        if not found:
            found.append(attributes)

    parser.StartElementHandler = on_start
    parser.Parse(document, True)  # noqa: FBT003 - expat takes no names
    return found[0]


def _is_sound(document: bytes) -> bool:
    """Whether a document is well-formed, and declares all its namespaces."""
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(document, True)  # noqa: FBT003
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True
