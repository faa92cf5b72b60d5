"""Which responses are files that are usually the same for all."""

import pytest

from bestbefore.addon.engine.unvalidated.static_types import is_static
from bestbefore.addon.rfc9111.message import Fields, Head


@pytest.mark.parametrize(
    ("media_type", "path", "static"),
    [
        ("image/png", "/a", True),
        ("Text/CSS; charset=utf-8", "/a", True),
        ("application/vnd.debian.binary-package", "/pool/a_1.deb", True),
        ("application/gzip", "/a", True),
        ("application/octet-stream", "/packages/a-1.0-py3-none-any.WHL?x=1", True),
        ("", "/a.tar.gz", True),
        ("application/octet-stream", "/download?file=a.whl", False),
        ("text/html", "/a.png", False),
        ("application/json", "/a.js", False),
        ("text/plain", "/a.zip", False),
    ],
)
def test_the_media_type_decides_and_if_it_says_nothing_the_extension(media_type: str, path: str, static: bool) -> None:
    fields = Fields([("Content-Type", media_type)] if media_type else [])
    assert is_static(Head(200, fields), path) is static
