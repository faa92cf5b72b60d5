"""The version of an object that the header of an answer shows."""

import re

_CODED = re.compile(r"(?:-gzip|-br|-zstd|;gzip|;br|--gzip|--br)(?=\"$)")
"""What servers add to an ETag for a content coding."""


def validator_of(last_modified: str | None, etag: str | None) -> str | None:
    """Return what stays the same while the object does, if the header has it.

    Last-Modified before ETag, because servers make the ETag depend on the content coding, and farms on the server. Of
    an ETag, what marks it as weak and names a coding is left out.
    """
    if last_modified:
        return last_modified
    if etag:
        return _CODED.sub("", etag.removeprefix("W/"))
    return None
