"""Cache-Groups and Cache-Group-Invalidation (RFC 9875): groups of responses that are invalidated together."""

from typing import Any

import http_sf

from bestbefore.addon.rfc9111.message import Fields, Target

CACHE_GROUPS = "cache-groups"
CACHE_GROUP_INVALIDATION = "cache-group-invalidation"
MAX_GROUPS = 64
"""The most groups of one response; further ones are ignored. RFC 9875 2 demands at least 32."""
LONGEST = 128
"""The longest name of a group, in characters; longer ones are ignored. RFC 9875 2 demands at least 32."""
_LONGEST_FIELD = MAX_GROUPS * (LONGEST + 4)


def groups_named(fields: Fields, name: str, url: str) -> tuple[str, ...]:
    """Return the keys of the groups that a field of a response from this URL names, each once.

    A group belongs to its origin, so its key has the scheme, host and port: no other origin can name it. The field is
    ignored as a whole if it is malformed, too long, or has a member that is not a string; parameters are ignored.
    """
    value = fields.get(name)
    if value is None or len(value) > _LONGEST_FIELD:
        return ()
    try:
        target = Target.parse(url)
        members: Any = http_sf.parse(value.encode("latin-1", "replace"), tltype="list")
    except (ValueError, OverflowError):
        return ()
    names = [member for member, _ in members]
    # By the exact type: a token is a subclass of a string.
    if not all(type(group) is str for group in names):
        return ()
    origin = target.origin
    short = [group for group in dict.fromkeys(names) if len(group) <= LONGEST]
    return tuple(f'"{group}"@{origin}' for group in short[:MAX_GROUPS])


def is_group(name: str) -> bool:
    """Whether a name is the key of a group, not a URL or a pattern of URLs."""
    return name.startswith('"')
