"""The validator in a response header that identifies the version of an object."""

import re

_CODED = re.compile(r"(?:-gzip|-br|-zstd|;gzip|;br|--gzip|--br)(?=\"$)")
"""The suffixes that servers add to an ETag for a content coding."""


def validator_of(last_modified: str | None, etag: str | None) -> str | None:
    """Return Last-Modified, else the ETag without its weak mark and content coding; None without both.

    Last-Modified is preferred, since an ETag may depend on the content coding, and on the server of a farm.
    """
    if last_modified:
        return last_modified
    if etag:
        return _CODED.sub("", etag.removeprefix("W/"))
    return None
